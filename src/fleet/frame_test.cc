#include "fleet/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed::fleet {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kLimit = 1000;

TEST(Frame, SurvivesTheTripInPiecesOfAnySize) {
  const Frame first{FrameKind::kRequest, 7, "{\"a\":1}"};
  const Frame second{FrameKind::kCancel, 0xfffffffe, ""};
  const std::string bytes = encode_frame(first) + encode_frame(second);
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    FrameDecoder decoder(kLimit);
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      decoder.feed(std::string_view(bytes).substr(at, piece));
      for (auto next = decoder.next(); next && *next; next = decoder.next()) frames.push_back(**next);
    }
    EXPECT_EQ(frames, (std::vector{first, second})) << "pieces of " << piece;
  }
}

TEST(Frame, GreetingBeforeTheFirstFrameIsSetAside) {
  FrameDecoder decoder(kLimit, 100);
  decoder.feed("Welcome to gpu07!\n");
  const auto nothing = decoder.next();
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(*nothing);
  decoder.feed("last login\n" + encode_frame({FrameKind::kReady, 0, ""}));
  const auto frame = decoder.next();
  ASSERT_TRUE(frame && *frame);
  EXPECT_EQ((*frame)->kind, FrameKind::kReady);
  EXPECT_EQ(decoder.noise(), "Welcome to gpu07!\nlast login\n");
}

TEST(Frame, EndlessNoiseIsAnErrorThatQuotesIt) {
  FrameDecoder decoder(kLimit, 100);
  Result<std::optional<Frame>> next = std::optional<Frame>();
  for (int i = 0; i < 10 && next; ++i) {
    decoder.feed("\x1b[31mPassword expired.\x07\n");
    next = decoder.next();
  }
  ASSERT_FALSE(next);
  EXPECT_THAT(next.error().text, HasSubstr("Password expired.?"));
  EXPECT_THAT(next.error().text, testing::Not(HasSubstr("\x1b")));
  EXPECT_FALSE(decoder.next()) << "the stream stays lost";
}

TEST(Frame, NoiseBetweenFramesIsAnError) {
  FrameDecoder decoder(kLimit, 100);
  decoder.feed(encode_frame({FrameKind::kReady, 0, ""}) + "a handler printed this");
  ASSERT_TRUE(decoder.next());
  const auto next = decoder.next();
  ASSERT_FALSE(next);
  EXPECT_THAT(next.error().text, HasSubstr("a handler printed this"));
}

TEST(Frame, HugeLengthIsRefusedBeforeItsBodyComes) {
  FrameDecoder decoder(kLimit);
  decoder.feed(encode_frame({FrameKind::kAnswer, 1, std::string(kLimit + 1, 'x')}).substr(0, kFrameHeader));
  const auto next = decoder.next();
  ASSERT_FALSE(next);
  EXPECT_THAT(next.error().text, HasSubstr("1001 bytes"));
}

TEST(Frame, OtherVersionAndUnknownKindAreNamed) {
  std::string bytes = encode_frame({FrameKind::kReady, 0, ""});
  bytes[4] = 9;
  FrameDecoder newer(kLimit);
  newer.feed(bytes);
  EXPECT_THAT(newer.next().error().text, HasSubstr("protocol 9"));
  bytes[4] = kProtocolVersion;
  bytes[5] = 6;
  FrameDecoder odd(kLimit);
  odd.feed(bytes);
  EXPECT_THAT(odd.next().error().text, HasSubstr("unknown kind 6"));
}

TEST(Frame, RequestSurvivesTheTrip) {
  const Request request{"fa\"cts\n", 1500, "{\"x\":\n2}"};
  const auto back = decode_request(encode_request(request));
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(*back, request);
}

TEST(Frame, BadRequestsAreErrors) {
  for (const char* body : {"", "{}", "{}\n", "[]\n{}", "{\"method\":1,\"deadline_ms\":1}\n",
                           "{\"method\":\"a\",\"deadline_ms\":-1}\n", "{\"method\":\"a\"\n"})
    EXPECT_FALSE(decode_request(body)) << body;
}

TEST(Frame, ErrorKeepsItsKind) {
  for (const ErrorKind kind : {ErrorKind::kBadInput, ErrorKind::kUnavailable, ErrorKind::kTimeout,
                               ErrorKind::kCancelled, ErrorKind::kInternal, ErrorKind::kKilled}) {
    const Error back = decode_error(encode_error({kind, "no \"device\"\n"}));
    EXPECT_EQ(back.kind, kind);
    EXPECT_EQ(back.text, "no \"device\"\n");
  }
  EXPECT_EQ(decode_error("nonsense").kind, ErrorKind::kBadInput);
  EXPECT_EQ(decode_error("[1]").kind, ErrorKind::kBadInput);
}

TEST(Frame, ThousandsInOnePieceComeOneByOne) {
  constexpr std::uint32_t kFrames = 10'000;
  std::string bytes;
  for (std::uint32_t i = 0; i < kFrames; ++i) bytes += encode_frame({FrameKind::kAnswer, i, "{}"});
  FrameDecoder decoder(kLimit);
  decoder.feed(bytes.substr(0, bytes.size() - 1));
  std::uint32_t count = 0;
  for (auto next = decoder.next(); next && *next; next = decoder.next()) EXPECT_EQ((*next)->id, count++);
  EXPECT_EQ(count, kFrames - 1);
  decoder.feed(bytes.substr(bytes.size() - 1));
  const auto last = decoder.next();
  ASSERT_TRUE(last && *last);
  EXPECT_EQ((*last)->id, count);
}

TEST(Frame, ANodesErrorIsAFewLines) {
  const Error long_one = decode_error(encode_error({ErrorKind::kUnavailable, std::string(1 << 20, 'a')}));
  EXPECT_EQ(long_one.kind, ErrorKind::kUnavailable);
  EXPECT_LT(long_one.text.size(), 1100u);
}

TEST(Quotable, IsOneBoundedLineWithoutControls) {
  EXPECT_EQ(quotable("  a\r\n\tb\x1b[1;31mc\x1b[0m\x07 \xc3\xa4\n"), "a bc? \xc3\xa4");
  EXPECT_EQ(quotable(std::string(500, 'x') + "end", 20), "...xxxxxxxxxxxxxxend");
  EXPECT_EQ(quotable("xxxx\xc3\xa4"
                     "end!",
                     8),
            "...end!")
      << "no half of a character";
  EXPECT_EQ(quotable("\x1b["), "");
}

TEST(EscapeSequences, AreLeftOut) {
  EXPECT_EQ(without_escape_sequences("\x1b[1;31ma\x1b[0m\n\x1b]0;title\x07"
                                     "b\x1b]8;;x\x1b\\c\x1b]\x1b[1md"),
            "a\nbcd");
  EXPECT_EQ(without_escape_sequences("\x1b]cut off\nnext\x1b[12"), "\nnext");
}

}  // namespace
}  // namespace railbed::fleet

// The agent buffers no output: a read returns what the pipes hold. While there are no reads, the pipes fill
// up and the program blocks, as with any full pipe. host/supervisor.h ends the program, whatever happens to
// the agent.
#include "campaign/job_handlers.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "bench/core/typed.h"
#include "campaign/output_lines.h"
#include "host/supervisor.h"
#include "host/wait.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kNewsWait{1};
constexpr std::size_t kMostOfStream = 32 << 10;  // in one reply
constexpr int kMostSeconds = 24 * 3600;

Result<SupervisedJob> job_of(const JobRequest& request) {
  const auto refuse = [](std::string_view why) { return fail(ErrorKind::kBadInput, std::string(why)); };
  SupervisedJob job;
  for (const FileContent& content : request.words) job.words.push_back(content.bytes);
  for (const FileContent& content : request.environment) {
    if (content.bytes.find('=') == 0 || content.bytes.find('=') == std::string::npos)
      return refuse("a variable of the environment wants a name and =");
    job.environment.push_back(content.bytes);
  }
  job.folder = request.folder.bytes;
  job.grace = std::chrono::seconds(request.grace_seconds);
  job.patience = std::chrono::seconds(request.patience_seconds);
  if (job.words.empty() || job.words.front().empty()) return refuse("there is no program to start");
  const auto whole = [](const std::string& one) { return one.find('\0') == std::string::npos; };
  if (!std::ranges::all_of(job.words, whole) || !std::ranges::all_of(job.environment, whole) ||
      !whole(job.folder))
    return refuse("words of a command cannot hold NUL");
  for (const int seconds : {request.grace_seconds, request.patience_seconds})
    if (seconds < 0 || seconds > kMostSeconds) return refuse("not a time that can be waited");
  return job;
}

// The one program of an agent. stop() and alive() may run in another thread while news() waits.
class AgentJob {
 public:
  Result<JobNote> start(const JobRequest& request) {
    ASSIGN_OR_RETURN(const auto job, job_of(request));
    RETURN_IF_ERROR(check_job(job));
    const std::lock_guard lock(mutex_);
    if (stopped_) return fail(ErrorKind::kCancelled, "it was stopped before it was started");
    if (program_) return fail(ErrorKind::kBadInput, "this agent has started a program already");
    ASSIGN_OR_RETURN(auto program, start_supervised(job));
    program_.emplace(std::move(program));
    return JobNote{};
  }

  void alive() {
    const std::lock_guard lock(mutex_);
    if (program_ && program_->in) send(program_->in.get(), ".", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  // May run while a read waits. The supervisor ends the program when its input closes.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (program_) program_->in.reset();
  }

  // Waits up to kNewsWait for output. The reply has the exit status once the pipes are empty, too.
  Result<JobNews> news(const std::stop_token& stop) {
    const std::lock_guard reading(reading_);
    {
      const std::lock_guard lock(mutex_);
      if (!program_) return fail(ErrorKind::kBadInput, "no program was started");
    }
    const auto until = Child::Clock::now() + kNewsWait;
    for (JobNews news;;) {
      // Read before the pipes are drained, so that the last output is read, too.
      const auto status = program_->child.ended();
      const bool more = read_streams(news);
      if (status && !more) {
        finish(news);
        news.status = status;
        return news;
      }
      if (!news.output.empty() || Child::Clock::now() >= until || stop.stop_requested()) return news;
      if (!more) wait();
    }
  }

 private:
  struct Stream {
    bool error;
    bool open = true;
    OutputLines lines = {};
  };

  const Fd& pipe_of(const Stream& stream) const { return stream.error ? program_->err : program_->out; }

  // Returns false if there was nothing to read.
  bool read_streams(JobNews& news) {
    bool any = false;
    for (Stream& stream : streams_) {
      JobOutput output{stream.error, {}};
      any = read_stream(stream, output.lines.text) || any;
      if (!output.lines.text.empty()) news.output.push_back(std::move(output));
    }
    return any;
  }

  bool read_stream(Stream& stream, std::string& lines) {
    std::array<char, kMostOfStream> bytes;
    if (!stream.open) return false;
    const ssize_t got = read(pipe_of(stream).get(), bytes.data(), bytes.size());
    if (got < 0) return errno == EINTR;
    stream.open = got > 0;
    stream.lines.take({bytes.data(), static_cast<std::size_t>(got)}, lines);
    return got > 0;
  }

  void finish(JobNews& news) {
    for (Stream& stream : streams_) {
      JobOutput output{stream.error, {}};
      stream.lines.end(output.lines.text);
      if (!output.lines.text.empty()) news.output.push_back(std::move(output));
    }
  }

  void wait() const {
    std::array<pollfd, 2> fds;
    for (std::size_t i = 0; i < fds.size(); ++i)
      fds[i] = {streams_[i].open ? pipe_of(streams_[i]).get() : -1, POLLIN, 0};
    poll(fds.data(), fds.size(), kPollSliceMs);
  }

  std::mutex mutex_;  // guards program_->in, program_'s creation and stopped_
  bool stopped_ = false;
  std::optional<Program> program_;  // once set, it stays

  std::mutex reading_;
  std::array<Stream, 2> streams_{Stream{false}, Stream{true}};
};

}  // namespace

Handlers job_handlers() {
  const auto job = std::make_shared<AgentJob>();
  Handlers handlers;
  handlers.emplace(kLaunchFind,
                   typed_handler<JobRequest>([](const JobRequest& request, auto) -> Result<JobNote> {
                     ASSIGN_OR_RETURN(const auto wanted, job_of(request));
                     RETURN_IF_ERROR(check_job(wanted));
                     return JobNote{};
                   }));
  handlers.emplace(kLaunchStart, typed_handler<JobRequest>(
                                     [job](const JobRequest& request, auto) { return job->start(request); }));
  handlers.emplace(kLaunchRead, typed_handler<JobNote>([job](const JobNote&, const std::stop_token& stop) {
                     return job->news(stop);
                   }));
  handlers.emplace(kLaunchAlive, typed_handler<JobNote>([job](const JobNote& note, auto) -> Result<JobNote> {
                     job->alive();
                     return note;
                   }));
  handlers.emplace(kLaunchStop, typed_handler<JobNote>([job](const JobNote& note, auto) -> Result<JobNote> {
                     job->stop();
                     return note;
                   }));
  return handlers;
}

}  // namespace railbed

// The burn's time is divided into passes. In each the file is written with numbers that follow from their place, or with
// their inverse, and flushed; then its blocks are read in random order, many at once, until the next pass. All goes past
// the page cache, by the kernel's asynchronous reads (io_submit(2)): one thread keeps two batches of reads in flight,
// and compares one while the drive works on the other.
//
// Rates are of batches that nothing is compared beside: else they would be those of the processor.
#include "bench/burn/burn_drive.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/json.h"
#include "base/random.h"
#include "bench/burn/burn_drive_watch.h"
#include "bench/burn/burn_kernels.h"
#include "bench/burn/direct_reads.h"
#include "bench/core/clock.h"
#include "bench/storage/scratch.h"
#include "host/host.h"
#include "os/errno_name.h"

namespace railbed {
namespace {

constexpr std::size_t kBlock = kReadBlock;
constexpr std::size_t kBlockWords = kReadWords;
constexpr std::size_t kBlocksOfAWrite = 4;
constexpr std::size_t kBatches = 2;
constexpr double kShortestPass = 20;          // seconds, where the burn lasts long enough for two
constexpr double kShareOfWriting = 0.25;      // of a pass, at most
constexpr std::uint64_t kBatchesPerRate = 8;  // every such one is timed alone
constexpr double kDriveNewsPeriod = 2;        // seconds
constexpr std::chrono::seconds kWatchPeriod{10};
constexpr int kLooksPerLog = 6;
constexpr std::uint64_t kMostFailedInARow = 256;  // reads: then the drive is gone

std::string reason(int error) { return miss_of(error).why; }

class DriveWork {
 public:
  DriveWork(const BurnPlan& plan, BurnDrive place, Host& host, std::uint64_t begin, const Tell& tell)
      : plan_(plan),
        begin_(begin),
        tell_(tell),
        state_(std::move(place)),
        watch_(host, state_.devices),
        seed_(random_seed()),
        random_(seed_),
        drills_(drill_moments(plan, BurnInjection::kWrongDrive, state_.ordinal)) {}

  void run() {
    const std::jthread watching([this](const std::stop_token& stop) { keep_watching(stop); });
    std::string why = work();
    if (file_) file_ = Fd();  // its space is free again
    if (!state_.skipped.empty()) why.clear();
    state_.trouble = std::move(why);
    state_.ended = state_.trouble.empty() && state_.skipped.empty();
    tell_.about_to("a last look at the drive");
    {
      const std::lock_guard lock(looking_);
      watch_.look(true);
    }
    send();
  }

 private:
  double at() const { return static_cast<double>(now_ns() - begin_) * 1e-9; }

  void keep_watching(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    for (int looks = 0; !stop.stop_requested(); ++looks) {
      {
        const std::lock_guard lock(looking_);
        watch_.look(looks % kLooksPerLog == 0);
      }
      std::unique_lock lock(mutex);
      changed.wait_for(lock, stop, kWatchPeriod, [] { return false; });
    }
  }

  void send() {
    state_.seconds = at();
    state_.devices = watch_.devices();
    state_.reached = watch_.reached();
    state_.rate = rates_.median();
    state_.write_rate = write_rates_.median();
    state_.held = static_cast<std::uint64_t>(
                      std::ranges::count_if(pass_of_, [](std::uint32_t pass) { return pass != 0; })) *
                  kBlock;
    sent_ = state_.seconds;
    tell_.result(json::dump(json::encode(state_)));
  }

  // Sends the state now and then, and gives the file up if others need the space. Returns false then.
  bool report() {
    if (at() - sent_ < kDriveNewsPeriod) return true;
    if (const auto room = room_at(state_.folder); room && room->free < state_.bytes) state_.gave_back = true;
    send();
    return !state_.gave_back;
  }

  // The content of a block that was written in this pass, counted from 1.
  BurnWords pattern_of(std::uint32_t pass) const {
    constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15U;
    return {.seed = seed_ + (pass - 1) / 2 * kStep, .bits = pass % 2 == 0 ? ~std::uint64_t{0} : 0};
  }
  void fill(std::span<std::uint64_t> memory, std::size_t block, std::uint32_t pass) const {
    const BurnWords pattern = pattern_of(pass);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = burn_word(pattern, block * kBlockWords + i);
  }

  // Returns why the work ended early; empty if it did not.
  std::string work() {
    tell_.about_to("a file in " + state_.folder);
    auto file = make_nameless_file(state_.folder);
    if (!file) {
      state_.skipped = "no file can be opened past the page cache (O_DIRECT): " + file.error().text;
      return "";
    }
    file_ = std::move(*file);
    reads_ = std::make_unique<DirectReads>(file_.get(), batches_);
    if (reads_->error() != 0) {
      state_.skipped = "no asynchronous reads (io_setup): " + reason(reads_->error());
      return "";
    }
    if (!memory_.is_there() || !write_memory_.is_there()) return "no memory";
    for (std::size_t i = 0; i < kBatches; ++i)
      for (std::size_t k = 0; k < kBatchBlocks; ++k)
        batches_[i].slots[k].memory = memory_.block(i * kBatchBlocks + k);
    pass_of_.resize(state_.bytes / kBlock);
    was_right_.resize(pass_of_.size());
    const std::uint64_t affordable = std::max<std::uint64_t>(state_.most_written / state_.bytes, 1);
    const double shortest = std::min(kShortestPass, plan_.seconds / 2);
    const auto passes = std::min(affordable, static_cast<std::uint64_t>(plan_.seconds / shortest));
    const double length = plan_.seconds / static_cast<double>(passes);
    std::string why;
    const auto goes_on = [&] { return why.empty() && state_.skipped.empty() && !state_.gave_back; };
    for (std::uint64_t pass = 1; pass <= passes && goes_on(); ++pass) {
      const double ends = pass == passes ? plan_.seconds : static_cast<double>(pass) * length;
      if (at() >= ends) continue;
      why = write_until(std::min(ends, at() + length * kShareOfWriting), static_cast<std::uint32_t>(pass));
      if (goes_on()) why = read_until(ends);
    }
    return why;
  }

  // Writes the file from its begin, as far as the time and the limit allow.
  std::string write_until(double ends, std::uint32_t pass) {
    tell_.about_to("writing in " + state_.folder);
    const DirectBlocks& memory = write_memory_;
    for (std::size_t block = 0; block < pass_of_.size() && at() < ends; block += kBlocksOfAWrite) {
      const std::size_t count = std::min(kBlocksOfAWrite, pass_of_.size() - block);
      // A drill writes its block twice.
      const std::uint64_t kept = (drills_.size() * 2 + drilled_.size()) * kBlock;
      if (state_.written + count * kBlock + kept > state_.most_written) break;
      for (std::size_t i = 0; i < count; ++i) {
        fill(memory.block(i), block + i, pass);
        pass_of_[block + i] = 0;
        was_right_[block + i] = false;
      }
      const auto started = now_ns();
      const int error = write_blocks(memory.block(0).data(), block, count);
      if (error == EINVAL && !state_.began) {
        state_.skipped = "no file can be written past the page cache (O_DIRECT): " + reason(error);
        return "";
      }
      state_.began = true;
      if (error == ENOSPC || error == EDQUOT) {
        state_.full = true;
        break;
      }
      if (error != 0)
        return fmt::format("a write of {} KiB at {} MiB failed: {}", count * kBlock >> 10,
                           block * kBlock >> 20, reason(error));
      write_rates_.add(static_cast<double>(count * kBlock) * 1e9 / static_cast<double>(now_ns() - started));
      std::fill_n(pass_of_.begin() + static_cast<std::ptrdiff_t>(block), count, pass);
      if (!report()) return "";
    }
    tell_.about_to("flushing the file in " + state_.folder);
    if (fdatasync(file_.get()) != 0) return "the flush of what was written failed: " + reason(errno);
    return "";
  }

  // Returns an errno; 0 if all was written. What was written in part counts as written.
  int write_blocks(const void* from, std::size_t block, std::size_t count) {
    std::size_t done = 0;
    while (done < count * kBlock) {
      const ssize_t wrote = pwrite(file_.get(), static_cast<const char*>(from) + done, count * kBlock - done,
                                   static_cast<off_t>(block * kBlock + done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return wrote < 0 ? errno : ENOSPC;
      done += static_cast<std::size_t>(wrote);
      state_.written += static_cast<std::uint64_t>(wrote);
    }
    return 0;
  }

  // Chooses the next blocks to read. Empty if none was ever written.
  void choose(DirectBatch& batch) {
    batch.used = 0;
    while (batch.used < kBatchBlocks) {
      if (order_.empty()) {
        for (std::size_t i = 0; i < pass_of_.size(); ++i)
          if (pass_of_[i] != 0) order_.push_back(i);
        std::ranges::shuffle(order_, random_);
      }
      if (order_.empty()) return;
      batch.slots[batch.used++].block = order_.back();
      order_.pop_back();
    }
  }

  std::string finish(DirectBatch& batch) {
    if (!reads_->wait(batch, plan_.patience))
      return fmt::format("hangs: no read was answered for {:.0f} s", plan_.patience);
    return "";
  }

  std::string read_until(double ends) {
    order_.clear();
    DirectBatch* flying = nullptr;
    std::string why;
    const auto land = [&] {
      if (flying == nullptr) return;
      why = finish(*flying);
      if (why.empty()) why = compare(*flying);
      flying = nullptr;
    };
    tell_.about_to("reading in " + state_.folder);
    for (std::uint64_t i = 0; at() < ends && why.empty(); ++i) {
      if (take_due(drills_, at())) {
        land();
        if (why.empty()) why = flip();
        if (!why.empty()) break;
      }
      if (i % kBatchesPerRate == 0) {
        land();
        if (why.empty()) why = measure();
        if (!why.empty()) break;
      }
      DirectBatch& next = batches_[i % kBatches];
      choose(next);
      if (next.used == 0) {
        // No block was written, so none can be read.
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      } else {
        reads_->submit(next);
        land();
        if (!why.empty()) return why;
        flying = &next;
      }
      if (!report()) break;
    }
    if (why.empty()) land();
    return why;
  }

  // Times a batch of reads with nothing beside it.
  std::string measure() {
    std::size_t bytes = 0;
    const auto started = now_ns();
    for (DirectBatch& batch : batches_) {
      choose(batch);
      if (batch.used == 0) return "";
      reads_->submit(batch);
      bytes += batch.used * kBlock;
    }
    for (DirectBatch& batch : batches_)
      if (std::string why = finish(batch); !why.empty()) return why;
    const double seconds = static_cast<double>(now_ns() - started) * 1e-9;
    const bool all_right = std::ranges::all_of(batches_, [](const DirectBatch& batch) {
      return std::ranges::all_of(std::span(batch.slots).first(batch.used), &is_whole);
    });
    if (all_right && seconds > 0) rates_.add(static_cast<double>(bytes) / seconds);
    for (DirectBatch& batch : batches_)
      if (std::string why = compare(batch); !why.empty()) return why;
    return "";
  }

  std::string compare(DirectBatch& batch) {
    for (const DirectSlot& slot : std::span(batch.slots).first(batch.used)) {
      if (!is_whole(slot)) {
        const std::string why = slot.result < 0 ? reason(static_cast<int>(-slot.result))
                                                : fmt::format("{} bytes of {}", slot.result, kBlock);
        if (state_.failed_reads++ == 0)
          state_.failed_read = fmt::format("{} (offset {})", why, slot.block * kBlock);
        if (++failed_in_a_row_ >= kMostFailedInARow) return "every read fails: " + why;
        continue;
      }
      failed_in_a_row_ = 0;
      state_.read += kBlock;
      compare_block(slot);
    }
    return "";
  }

  void compare_block(const DirectSlot& slot) {
    const std::uint32_t pass = pass_of_[slot.block];
    const BurnWords pattern = pattern_of(pass);
    const std::uint64_t first = slot.block * kBlockWords;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kBlockWords; ++i) bits |= slot.memory[i] ^ burn_word(pattern, first + i);
    state_.compared += kBlockWords;
    if (bits == 0) {
      was_right_[slot.block] = true;
      return;
    }
    BurnDriveFault fault;
    fault.at = at();
    fault.bits = fmt::format("{:016x}", bits);
    fault.of = was_right_[slot.block] ? "kept" : "written";
    fault.stale = pass > 1;
    for (std::size_t i = 0; i < kBlockWords; ++i) {
      if (slot.memory[i] == burn_word(pattern, first + i)) continue;
      if (fault.elements++ == 0) fault.first = (first + i) * sizeof(std::uint64_t);
      if (pass > 1 && slot.memory[i] != burn_word(pattern_of(pass - 1), first + i)) fault.stale = false;
    }
    fault.again = read_again(slot, pattern);
    // A second read of a drill's block, which was in flight when it was mended.
    if (fault.again == "right" && bits == kDrillBit &&
        std::ranges::find(mended_, slot.block) != mended_.end())
      return;
    const auto drilled = std::ranges::find(drilled_, slot.block);
    fault.injected = drilled != drilled_.end();
    if (fault.injected) {
      drilled_.erase(drilled);
      mend(slot.block);
    }
    ++state_.fault_count;
    if (state_.faults.size() < kMostFaults) state_.faults.push_back(std::move(fault));
  }

  std::string read_again(const DirectSlot& slot, const BurnWords& pattern) {
    const std::span<std::uint64_t> memory = write_memory_.block(0);
    const ssize_t got = pread(file_.get(), memory.data(), kBlock, static_cast<off_t>(slot.block * kBlock));
    if (got != static_cast<ssize_t>(kBlock)) return "failed";
    if (std::ranges::equal(memory, slot.memory)) return "same";
    for (std::size_t i = 0; i < kBlockWords; ++i)
      if (memory[i] != burn_word(pattern, slot.block * kBlockWords + i)) return "other";
    return "right";
  }

  // Writes a block with one wrong bit, and reads it next. Nothing is in flight.
  std::string flip() {
    const auto known = std::ranges::find_if(pass_of_, [](std::uint32_t pass) { return pass != 0; });
    if (known == pass_of_.end()) return "";
    const auto block = static_cast<std::size_t>(known - pass_of_.begin());
    const std::span<std::uint64_t> memory = write_memory_.block(0);
    fill(memory, block, *known);
    memory[kBlockWords / 2] ^= kDrillBit;
    if (const int error = write_blocks(memory.data(), block, 1); error != 0)
      return "the drill's write failed: " + reason(error);
    drilled_.push_back(block);
    order_.push_back(block);
    return "";
  }

  // Writes a drill's block as it should be, so that it is found once.
  void mend(std::size_t block) {
    mended_.push_back(block);
    const std::span<std::uint64_t> memory = write_memory_.block(0);
    fill(memory, block, pass_of_[block]);
    write_blocks(memory.data(), block, 1);
  }

  const BurnPlan& plan_;
  const std::uint64_t begin_;
  const Tell& tell_;
  BurnDrive state_;
  std::mutex looking_;
  DriveWatch watch_;  // look() by `looking_`
  const std::uint64_t seed_;
  std::mt19937_64 random_;
  std::vector<double> drills_;        // moments
  std::vector<std::size_t> drilled_;  // blocks with a wrong bit
  std::vector<std::size_t> mended_;   // those that were mended
  Fd file_;
  DirectBlocks memory_{kBatches * kBatchBlocks};
  DirectBlocks write_memory_{kBlocksOfAWrite};
  std::array<DirectBatch, kBatches> batches_;
  std::unique_ptr<DirectReads>
      reads_;  // its end waits for the reads, so it comes before that of their memory
  std::vector<std::uint32_t> pass_of_;  // each block's content; 0: never written, or a write of it failed
  std::vector<bool> was_right_;         // since it was written
  std::vector<std::size_t> order_;      // blocks still to be read, the next one last
  BurnRates rates_, write_rates_;
  double sent_ = 0;
  std::uint64_t failed_in_a_row_ = 0;
};

}  // namespace

void run_burn_drive(const BurnPlan& plan, const BurnDrive& place, Host& host, std::uint64_t begin,
                    const Tell& tell) {
  DriveWork(plan, place, host, begin, tell).run();
}

}  // namespace railbed

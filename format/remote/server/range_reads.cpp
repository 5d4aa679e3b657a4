// Reads ranges, each of which a caller wants whole and in order.
//
// A reading waits in a queue, the most urgent first, until another request may be sent. It then has
// one or two attempts under way: if the first byte of a request is late, a second request is sent,
// and the first of the two that delivers bytes continues alone. If a reading's request fails, the
// reading goes back into the queue after a wait, and continues at the byte where it ended. Bytes
// are delivered to the caller as they arrive.
//
// Two numbers measured on the link (http/link.h) control this: how many connections are worth it,
// and how many bytes a request still delivers while the next one travels. A request with no more
// bytes than that to come counts as ending, and the next one is sent, so that the link is never
// idle between two requests.
#include "format/remote/server/range_reads.h"

#include <cerrno>

#include "format/disk/system_error.h"
#include "format/remote/credentials/credentials.h"
#include "format/remote/http/http_answer.h"

namespace sluice {

namespace {

// How often Tick() looks for stragglers and measures the link.
constexpr std::chrono::milliseconds kTick{25};
// A second request for the same bytes (a hedge) costs the server as much as the first. So there is
// at most one for every twenty reads that succeeded, and a few at the beginning.
constexpr double kHedgesPerRead = 0.05;
constexpr double kMaxHedges = 8;

}  // namespace

RangeReads::RangeReads(HttpLoop& loop, Endpoint& endpoint, RenewedCredentials* credentials,
                       const RetrySettings& retries, StoreMeasures& measures)
    : loop_(loop),
      endpoint_(endpoint),
      credentials_(credentials),
      retry_settings_(retries),
      measures_(measures) {
  measures_.useful_bytes = link_.useful_bytes(connections_.limit());
}

void RangeReads::Add(Ticket ticket, RangeRead read) {
  if (closed_) return;
  if (given_up_) {
    const Error error = GivenUpError(endpoint_.Shown(read.object));
    return read.done(&error);
  }
  try {
    Reading& reading =
        readings_.try_emplace(ticket, retry_settings_, measures_.outage).first->second;
    reading.order = next_order_++;
    waiting_.insert({read.urgency, reading.order, ticket});
    reading.read = std::move(read);
  } catch (const std::bad_alloc&) {
    readings_.erase(ticket);
    return read.done(&OutOfMemory());
  }
  Begin();
}

void RangeReads::Cancel(Ticket ticket) {
  const auto found = readings_.find(ticket);
  if (found == readings_.end()) return;
  DropAttempts(found->second, 0);
  waiting_.erase({found->second.read.urgency, found->second.order, ticket});
  begun_.erase(ticket);
  readings_.erase(found);
  Begin();
}

void RangeReads::GiveUp() {
  given_up_ = true;
  waiting_.clear();
  while (!readings_.empty()) {
    const auto& [ticket, reading] = *readings_.begin();
    const Error error = GivenUpError(endpoint_.Shown(reading.read.object));
    End(ticket, &error);
  }
}

void RangeReads::Close() {
  closed_ = true;
  for (auto& [ticket, reading] : readings_)
    DropAttempts(reading, 0);
  waiting_.clear();
  begun_.clear();
  readings_.clear();
}

void RangeReads::Enqueue(Ticket ticket, const Reading& reading) {
  waiting_.insert({reading.read.urgency, reading.order, ticket});
}

bool RangeReads::MayBegin() const noexcept {
  const unsigned limit = connections_.limit();
  return active_ - ending_ < limit && active_ < std::min(2 * limit, ConnectionCount::kMax);
}

// Sends requests for the most urgent ranges, as many as are allowed at once.
void RangeReads::Begin() {
  while (MayBegin() && !waiting_.empty() && !for_credentials_) {
    const Ticket ticket = waiting_.begin()->ticket;
    Reading& reading = readings_.at(ticket);
    try {
      Request(ticket, reading);
    } catch (const Error& error) {
      waiting_.erase({reading.read.urgency, reading.order, ticket});
      const SystemError about(error.code(), endpoint_.Shown(reading.read.object), error.what(),
                              EACCES);
      End(ticket, &about);
    } catch (const std::exception&) {
      waiting_.erase({reading.read.urgency, reading.order, ticket});
      End(ticket, &OutOfMemory());
    }
  }
}

// nullopt while the credentials are being renewed; Begin() is called once they are ready.
std::optional<Credentials> RangeReads::CredentialsNow() {
  if (credentials_ == nullptr) return Credentials{};
  auto credentials = credentials_->TryGet([this] {
    loop_.Post([this] {
      for_credentials_ = false;
      Begin();
    });
  });
  for_credentials_ = !credentials;
  return credentials;
}

void RangeReads::Request(Ticket ticket, Reading& reading) {
  auto credentials = CredentialsNow();
  if (!credentials) return;
  waiting_.erase({reading.read.urgency, reading.order, ticket});
  if (!reading.begun) reading.retries.Progress();  // the wait in the queue does not count
  const RangeRead& read = reading.read;
  StoreCall call;
  call.object = read.object;
  call.headers["range"] = "bytes=" + std::to_string(read.offset + reading.given) + "-" +
                          std::to_string(read.offset + read.bytes - 1);
  if (IsStrongEtag(read.etag)) call.headers["if-match"] = read.etag;
  HttpRequest request = endpoint_.Form(call, *credentials);
  if (!reading.redirected.empty()) Redirect(request, reading.redirected);
  if (measures_.outage.Lasts())
    request.connect_timeout = request.stall_timeout = retry_settings_.first_contact;

  const auto transfer = std::make_shared<HttpLoop::Ticket>(0);
  HttpReceiver receiver;
  receiver.head = [=, this](const HttpReply& reply) { return OnHead(ticket, *transfer, reply); };
  receiver.body = [=, this](Bytes bytes) { return OnBody(ticket, *transfer, bytes); };
  receiver.end = [=, this](HttpReply&& reply) { OnEnd(ticket, *transfer, std::move(reply)); };
  // Before Start(), so that push_back() below cannot fail for lack of memory: a transfer without an
  // attempt would call back for nothing, and active_ would be wrong.
  reading.attempts.reserve(2);
  *transfer = loop_.Start(request, std::move(receiver));
  reading.attempts.push_back(
      {*transfer, Clock::now(), std::move(*credentials), {}, false, false, {}, 0});
  if (active_++ == 0) link_.Begin(Clock::now());
  measures_.requests += 1;
  if (reading.begun) measures_.repeated += 1;
  reading.begun = true;
  begun_.insert(ticket);
  StartTicking();
}

RangeReads::Attempt* RangeReads::Find(Ticket ticket, HttpLoop::Ticket transfer, Reading*& reading) {
  const auto found = readings_.find(ticket);
  if (found == readings_.end()) return nullptr;
  reading = &found->second;
  for (Attempt& attempt : reading->attempts) {
    if (attempt.transfer == transfer) return &attempt;
  }
  return nullptr;
}

bool RangeReads::OnHead(Ticket ticket, HttpLoop::Ticket transfer, const HttpReply& reply) {
  Reading* reading = nullptr;
  Attempt* const attempt = Find(ticket, transfer, reading);
  if (attempt == nullptr) return false;
  measures_.answered_at(!reading->redirected.empty()) = true;
  link_.NoteFirstByte(reply.first_byte);
  if (reply.status != 200 && reply.status != 206) return false;  // the body is an error message
  const RangeRead& read = reading->read;
  if (IsStrongEtag(reply.etag)) attempt->info.etag = reply.etag;
  attempt->info.changed = reply.changed;
  const std::uint64_t wanted = read.bytes - reading->given;
  attempt->verdict = JudgeRangeAnswer(reply, {read.offset + reading->given, wanted, read.etag});
  const auto range = ParseContentRange(reply.content_range);
  attempt->left = reply.status == 206 && range ? range->bytes() : wanted;
  attempt->info.bytes = reply.status == 200 ? wanted : range ? range->total.value_or(0) : 0;
  return true;
}

bool RangeReads::OnBody(Ticket ticket, HttpLoop::Ticket transfer, Bytes bytes) {
  Reading* reading = nullptr;
  Attempt* const attempt = Find(ticket, transfer, reading);
  if (attempt == nullptr || attempt->verdict.kind != Verdict::Kind::kGood) return false;
  // The caller's buffer ends with the range, whatever the server sends.
  if (bytes.size() > attempt->left) {
    attempt->verdict.kind = Verdict::Kind::kAgain;
    attempt->verdict.number = EPROTO;
    attempt->verdict.sentence = "the server sent more bytes than were requested, or than it said";
    return false;
  }
  attempt->left -= bytes.size();
  if (!attempt->got && reading->given == 0) {
    // If another request must fetch the rest, it must be of the same content.
    if (reading->read.etag.empty()) reading->read.etag = attempt->info.etag;
    if (reading->read.info != nullptr) *reading->read.info = attempt->info;
  }
  attempt->got = true;
  // Of two attempts, the first that delivers bytes continues alone.
  if (reading->attempts.size() > 1) DropAttempts(*reading, transfer);
  reading->given += bytes.size();
  reading->retries.Progress();
  link_.NoteBytes(bytes.size());
  measures_.bytes += bytes.size();
  reading->read.take(bytes);
  NoteEnding(*reading, reading->attempts.front());
  return true;
}

void RangeReads::NoteEnding(const Reading& reading, Attempt& attempt) {
  const std::uint64_t left = reading.read.bytes - reading.given;
  if (attempt.ends || left == 0 || left > link_.tail_bytes(active_ - ending_)) return;
  attempt.ends = true;
  ++ending_;
  Begin();
}

void RangeReads::OnEnd(Ticket ticket, HttpLoop::Ticket transfer, HttpReply&& reply) {
  Reading* reading = nullptr;
  const Attempt* const found = Find(ticket, transfer, reading);
  if (found == nullptr) return;
  if (reply.status != 0) measures_.answered_at(!reading->redirected.empty()) = true;
  // A copy, because the original is erased next.
  const Attempt attempt = *found;
  std::erase_if(reading->attempts, [&](const Attempt& one) { return one.transfer == transfer; });
  --active_;
  if (attempt.ends) --ending_;
  Verdict verdict = attempt.verdict;
  if (reading->given == reading->read.bytes) {
    measures_.outage.End();
    link_.NoteReadSize(reading->read.bytes);
    hedges_left_ = std::min(kMaxHedges, hedges_left_ + kHedgesPerRead);
    End(ticket, nullptr);
  } else if (verdict.kind == Verdict::Kind::kGood && reply.whole() && attempt.got &&
             attempt.left == 0) {
    // The server has sent all that it promised: fewer bytes than the range has. It has not failed,
    // so the request for the rest counts as a first one, and follows without a wait.
    reading->begun = reading->hedged = false;
    begun_.erase(ticket);
    Enqueue(ticket, *reading);
  } else {
    const StoreCall call{.object = reading->read.object};
    if (verdict.kind == Verdict::Kind::kGood)
      verdict = endpoint_.Judge(call, attempt.credentials, reply);
    if (verdict.kind == Verdict::Kind::kGood) {
      verdict.kind = Verdict::Kind::kAgain;
      verdict.number = ECONNRESET;
      verdict.sentence = "the answer ended before all its bytes had come";
    }
    if (verdict.kind == Verdict::Kind::kBusy) Busy(attempt.begun);
    if (verdict.kind == Verdict::Kind::kExpired && credentials_ != nullptr)
      credentials_->Expired(attempt.credentials);
    // Another attempt may still succeed.
    if (reading->attempts.empty() || verdict.kind == Verdict::Kind::kFinal)
      Failed(ticket, *reading, std::move(verdict));
  }
  Begin();
}

void RangeReads::Busy(Clock::time_point begun) {
  if (begun < last_halving_) return;  // sent when there were more connections
  connections_.Halve();
  last_halving_ = Clock::now();
}

void RangeReads::Failed(Ticket ticket, Reading& reading, Verdict verdict) {
  const auto wait =
      reading.retries.Wait(verdict, measures_.answered_at(!reading.redirected.empty()));
  if (!wait) return EndWith(ticket, verdict);
  if (verdict.kind == Verdict::Kind::kElsewhere) reading.redirected = verdict.target;
  if (verdict.kind == Verdict::Kind::kAgain || verdict.kind == Verdict::Kind::kBusy) {
    reading.redirected.clear();
  }
  reading.last_failure = std::move(verdict.sentence);
  reading.last_number = verdict.number;
  reading.hedged = false;
  if (wait->count() == 0) return Enqueue(ticket, reading);
  loop_.After(*wait, [this, ticket] {
    const auto found = readings_.find(ticket);
    // The read may have been cancelled meanwhile.
    if (found == readings_.end() || !found->second.attempts.empty()) return;
    Enqueue(ticket, found->second);
    Begin();
  });
}

void RangeReads::EndWith(Ticket ticket, const Verdict& verdict) {
  try {
    verdict.Throw(endpoint_.Shown(readings_.at(ticket).read.object));
  } catch (const Error& error) {
    End(ticket, &error);
  }
}

void RangeReads::End(Ticket ticket, const Error* error) {
  const auto found = readings_.find(ticket);
  DropAttempts(found->second, 0);
  // done() may add or cancel reads. So the reading is gone from all lists before it is called.
  const auto done = std::move(found->second.read.done);
  begun_.erase(ticket);
  readings_.erase(found);
  done(error);
}

void RangeReads::DropAttempts(Reading& reading, HttpLoop::Ticket except) {
  std::erase_if(reading.attempts, [&](const Attempt& attempt) {
    if (attempt.transfer == except) return false;
    loop_.Abort(attempt.transfer);
    --active_;
    if (attempt.ends) --ending_;
    return true;
  });
}

void RangeReads::StartTicking() {
  if (ticking_) return;
  ticking_ = true;
  loop_.After(kTick, [this] { Tick(); });
}

// Checks the readings under way: a straggler gets a second request, and a reading without progress
// for too long ends.
void RangeReads::Tick() {
  ticking_ = false;
  const auto now = Clock::now();
  const bool wanted = !waiting_.empty() && !MayBegin();
  all_in_use_ = all_in_use_ && wanted;
  if (const auto rate = link_.End(now)) {
    if (all_in_use_) connections_.Window(*rate);
    all_in_use_ = wanted;
    measures_.useful_bytes = link_.useful_bytes(connections_.limit());
  }
  std::vector<Ticket> stuck;
  for (const Ticket ticket : begun_) {
    Reading& reading = readings_.at(ticket);
    if (reading.retries.TimeIsUp()) stuck.push_back(ticket);
    const bool late = reading.attempts.size() == 1 && !reading.hedged &&
                      !reading.attempts.front().got &&
                      now - reading.attempts.front().begun > link_.late();
    if (late && hedges_left_ >= 1 && !for_credentials_) {
      reading.hedged = true;
      hedges_left_ -= 1;
      try {
        Request(ticket, reading);
      } catch (const std::exception&) {
        // The first request continues.
      }
    }
  }
  for (const Ticket ticket : stuck) {
    Reading& reading = readings_.at(ticket);
    reading.retries.GiveUp();
    waiting_.erase({reading.read.urgency, reading.order, ticket});
    Verdict verdict;
    verdict.number = reading.last_number == 0 ? ETIMEDOUT : reading.last_number;
    verdict.sentence =
        "no byte came for " +
        std::to_string(
            std::chrono::duration_cast<std::chrono::seconds>(retry_settings_.timeout).count()) +
        " seconds, repeated requests included" +
        (reading.last_failure.empty() ? "" : "; the last one failed: " + reading.last_failure);
    EndWith(ticket, verdict);
  }
  Begin();
  if (!begun_.empty()) StartTicking();
}

}  // namespace sluice

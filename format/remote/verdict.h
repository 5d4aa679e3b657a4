// What an answer, or none, means for who asked.
#pragma once

#include <chrono>
#include <string>

#include <sluice/error.h>

#include "format/remote/http_message.h"

namespace sluice {

// For what StopCalls() ended.
Error GivenUpError(const std::string& object);

struct Verdict {
  enum class Kind {
    kGood,
    kAgain,      // may pass: ask again, a little later
    kBusy,       // the same, and the server asks for fewer requests
    kExpired,    // ask again with renewed credentials, once
    kElsewhere,  // ask again at once: at `target`, or if that is empty the endpoint knows better
                 // now
    kFinal,
  };
  Kind kind = Kind::kGood;
  // For all but kGood: what an Error would say.
  ErrorCode code = ErrorCode::kIo;
  int number = 0;  // of errno, for kIo: tells what may pass from data that is lost
  std::string sentence;
  bool no_contact = false;            // the server was not even reached
  std::chrono::milliseconds wait{0};  // at least, as the server asked
  std::string target;                 // URL

  // Throws, as an Error about that URL.
  [[noreturn]] void Throw(const std::string& shown_url) const;
};

// Of a reply without a whole answer. `server` is what the user knows it by.
Verdict JudgeFailure(const HttpReply& reply, const std::string& server);

// Of statuses that mean the same everywhere: 408, 429 and those of 500 and more. kGood for others.
Verdict JudgeBusyServer(const HttpReply& reply, const std::string& server);

}  // namespace sluice

// The process in which an object was made. A fork copies objects, but no threads: in the child, the
// object's threads are missing, and another thread may seem to hold its locks for ever.
#pragma once

#include <sys/types.h>
#include <unistd.h>

namespace sluice {

class OwnProcess {
 public:
  // False in a child that was forked after the object was made.
  bool IsThis() const noexcept { return getpid() == process_; }

 private:
  const pid_t process_ = getpid();
};

}  // namespace sluice

#include "net/failure.hpp"

#include <cerrno>
#include <cstring>

namespace bulkhead::net {

namespace {

std::string_view reason(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kTimedOut:
      return "timed out";
    case ErrorKind::kClosedByPeer:
      return "the peer has ended the connection";
    case ErrorKind::kReset:
      return "the peer has broken the connection off";
    case ErrorKind::kRefused:
      return "refused, nobody listens there";
    case ErrorKind::kUnreachable:
      return "unreachable";
    case ErrorKind::kAddressInUse:
      return "the address is in use";
    case ErrorKind::kAddressNotAvailable:
      return "the address is not one of this machine's, or all its ports are taken";
    case ErrorKind::kBadAddress:
      return "the address cannot be used";
    case ErrorKind::kDenied:
      return "not allowed";
    case ErrorKind::kTooManyFiles:
      return "no descriptor is left: raise the limit of open files, or close some";
    case ErrorKind::kNoMemory:
      return "no memory";
    case ErrorKind::kNoSuchName:
      return "the name has no address";
    case ErrorKind::kLookupFailed:
      return "the look-up failed";
    case ErrorKind::kClosed:
      return "it is closed";
    case ErrorKind::kBusy:
      return "another actor is at it";
    case ErrorKind::kTooLong:
      return "longer than the limit";
    case ErrorKind::kStopped:
      return "the actor is ending";
    case ErrorKind::kOther:
      return "failed";
  }
  return "unknown";
}

// Conditions of this library that have an errno only so that they can be returned like the others.
bool is_ours(ErrorKind kind) noexcept {
  return kind == ErrorKind::kTimedOut || kind == ErrorKind::kClosed || kind == ErrorKind::kBusy ||
         kind == ErrorKind::kStopped;
}

}  // namespace

std::string_view to_string(ErrorKind kind) noexcept { return reason(kind); }

ErrorKind kind_of(int code) noexcept {
  switch (code) {
    case ETIMEDOUT:
      return ErrorKind::kTimedOut;
    case EPIPE:
      return ErrorKind::kClosedByPeer;
    case ECONNRESET:
    case ECONNABORTED:
      return ErrorKind::kReset;
    case ECONNREFUSED:
      return ErrorKind::kRefused;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case ENETRESET:
      return ErrorKind::kUnreachable;
    case EADDRINUSE:
      return ErrorKind::kAddressInUse;
    case EADDRNOTAVAIL:
      return ErrorKind::kAddressNotAvailable;
    case EAFNOSUPPORT:
    case EDESTADDRREQ:
      return ErrorKind::kBadAddress;
    case EACCES:
    case EPERM:
      return ErrorKind::kDenied;
    case EMFILE:
    case ENFILE:
      return ErrorKind::kTooManyFiles;
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC:  // epoll's limit of watches
      return ErrorKind::kNoMemory;
    case EBADF:
      return ErrorKind::kClosed;
    case EBUSY:
      return ErrorKind::kBusy;
    case ECANCELED:
      return ErrorKind::kStopped;
    default:
      return ErrorKind::kOther;
  }
}

Error failure(std::string_view what, std::string_view where, int code, std::size_t done) {
  Error error{kind_of(code), code, done, std::string(what)};
  if (!where.empty()) error.text += ' ' + std::string(where);
  error.text += ": ";
  if (error.kind == ErrorKind::kOther) {
    const char* words = strerrordesc_np(code);
    error.text += words != nullptr ? words : "unknown error " + std::to_string(code);
  } else {
    error.text += reason(error.kind);
  }
  if (const char* name = strerrorname_np(code); name != nullptr && !is_ours(error.kind)) {
    error.text += " (" + std::string(name) + ")";
  }
  return error;
}

Error failure(std::string_view what, const Endpoint& where, int code, std::size_t done) {
  return failure(what, to_string(where), code, done);
}

Error bad_address(std::string why) { return {ErrorKind::kBadAddress, 0, 0, std::move(why)}; }

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 100;
  std::string shown(text.substr(0, kMost));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (text.size() > kMost) shown += "...";
  return shown;
}

}  // namespace bulkhead::net

// Which sanitizers the code is compiled for: BULKHEAD_ASAN, BULKHEAD_TSAN. g++ and Clang say it in
// different ways.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define BULKHEAD_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define BULKHEAD_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(BULKHEAD_ASAN)
#define BULKHEAD_ASAN 1
#endif
#if __has_feature(thread_sanitizer) && !defined(BULKHEAD_TSAN)
#define BULKHEAD_TSAN 1
#endif
#endif

/// Of a function that runs while AddressSanitizer changes stacks: none of its variables may lie in
/// what that keeps of them.
#ifdef BULKHEAD_ASAN
#define BULKHEAD_NO_ASAN __attribute__((no_sanitize_address))
#else
#define BULKHEAD_NO_ASAN
#endif

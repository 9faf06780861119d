// The sanitizers of this build: ACTORD_ADDRESS_SANITIZER and
// ACTORD_THREAD_SANITIZER are 1 or 0. GCC and Clang tell them in different
// ways.
#pragma once

#if defined(__has_feature)
#define ACTORD_HAS_FEATURE(name) __has_feature(name)
#else
#define ACTORD_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || ACTORD_HAS_FEATURE(address_sanitizer)
#define ACTORD_ADDRESS_SANITIZER 1
#else
#define ACTORD_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || ACTORD_HAS_FEATURE(thread_sanitizer)
#define ACTORD_THREAD_SANITIZER 1
#else
#define ACTORD_THREAD_SANITIZER 0
#endif

// The SHA-256 of bytes that are added piece by piece.
//
// Thread-safety: one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace actord::runtime {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(std::string_view bytes);
  // Returns 64 hexadecimal digits. Then the object begins anew.
  std::string TakeHex();

 private:
  void Begin();

  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace actord::runtime

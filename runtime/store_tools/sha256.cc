#include "runtime/store_tools/sha256.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) { Begin(); }
Sha256::~Sha256() = default;

void Sha256::Begin() {
  ACTORD_ASSERT(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1,
                "sha256.cc: OpenSSL has SHA-256");
}

void Sha256::Add(std::string_view bytes) {
  ACTORD_ASSERT(
      EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1,
      "sha256.cc: bytes can be added to a digest");
}

std::string Sha256::TakeHex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  ACTORD_ASSERT(EVP_DigestFinal_ex(context_.get(), digest, &size) == 1,
                "sha256.cc: a digest ends");
  Begin();
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), size));
}

}  // namespace actord::runtime

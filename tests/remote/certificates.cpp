#include "tests/remote/certificates.h"

#include <cstdio>
#include <memory>
#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

namespace sluice::test {

namespace {

struct Deleter {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using X509Pointer = std::unique_ptr<X509, Deleter>;
using KeyPointer = std::unique_ptr<EVP_PKEY, Deleter>;
using FilePointer = std::unique_ptr<std::FILE, Deleter>;

// A P-256 key, which is generated much faster than an RSA key.
KeyPointer NewKey() {
  EVP_PKEY_CTX* const context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nullptr);
  EVP_PKEY* key = nullptr;
  const bool made = EVP_PKEY_keygen_init(context) == 1 &&
                    EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1 &&
                    EVP_PKEY_keygen(context, &key) == 1;
  EVP_PKEY_CTX_free(context);
  if (!made) throw std::runtime_error("cannot generate a key for a test");
  return KeyPointer(key);
}

void Extend(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509Pointer NewCertificate(EVP_PKEY* key, const char* name, long number, int from_days,
                           int to_days) {
  constexpr long kDay = 24 * 60 * 60;
  X509Pointer certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), number);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), from_days * kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), to_days * kDay);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  return certificate;
}

std::string Written(const std::filesystem::path& path, const auto& write) {
  const FilePointer file(std::fopen(path.c_str(), "w"));
  if (!file || write(file.get()) != 1)
    throw std::runtime_error("cannot write the test's file " + path.string());
  return path;
}

}  // namespace

Certificate MakeCertificate(const std::filesystem::path& folder, int from_days, int to_days) {
  const KeyPointer authority_key = NewKey(), key = NewKey();
  const X509Pointer authority =
      NewCertificate(authority_key.get(), "Sluice's test authority", 1, -1, 30);
  X509_set_issuer_name(authority.get(), X509_get_subject_name(authority.get()));
  Extend(authority.get(), authority.get(), NID_basic_constraints, "critical,CA:TRUE");
  Extend(authority.get(), authority.get(), NID_key_usage, "critical,keyCertSign");
  X509_sign(authority.get(), authority_key.get(), EVP_sha256());

  const X509Pointer own = NewCertificate(key.get(), "localhost", 2, from_days, to_days);
  X509_set_issuer_name(own.get(), X509_get_subject_name(authority.get()));
  Extend(own.get(), authority.get(), NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  X509_sign(own.get(), authority_key.get(), EVP_sha256());

  const auto write = [&](const char* name, X509* certificate) {
    return Written(folder / name,
                   [&](std::FILE* file) { return PEM_write_X509(file, certificate); });
  };
  Certificate files;
  files.authority_file = write("authority.pem", authority.get());
  files.file = write("server.pem", own.get());
  files.key_file = Written(folder / "server.key", [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return files;
}

}  // namespace sluice::test

// The answers of servers and the settings of remote datasets: lists, errors, credentials, profiles,
// URLs.
#include <sluice/error.h>

#include "format/remote/credentials/chain.h"
#include "format/remote/credentials/process.h"
#include "format/remote/http/http_answer.h"
#include "format/remote/http/url.h"
#include "format/remote/server/s3_endpoint.h"
#include "format/xml.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

namespace {

bool FitsInHeader(const std::string& text) {
  for (const char c : text) {
    if (c == '\r' || c == '\n' || c == '\0') return false;
  }
  return true;
}

void Check(const std::optional<Credentials>& credentials) {
  if (!credentials) return;
  Promise(!credentials->anonymous() && !credentials->secret.empty(),
          "credentials have a key and a secret");
  Promise(FitsInHeader(credentials->key_id) && FitsInHeader(credentials->token),
          "credentials fit into headers");
}

}  // namespace

// Reads the input as a page of a list, as any XML, and as text inside XML.
void RunListing(Bytes input) {
  const std::string_view text = AsText(input);
  if (const auto page = ParseListing(text)) {
    for (const ListedObject& object : page->objects)
      Promise(!object.key.empty() && object.key.size() <= text.size(),
              "a listed key is not empty, and no longer than the page");
  }
  std::size_t bytes = 0;
  ReadXml(text, [&](std::string_view, std::string&& inside) { bytes += inside.size(); });
  Promise(bytes <= text.size(), "texts are no longer than the XML");
  std::string again;
  const bool read =
      ReadXml("<a>" + XmlEscaped(text) + "</a>",
              [&](std::string_view, std::string&& inside) { again = std::move(inside); });
  Promise(!read || again == text || text.find('\r') != text.npos,
          "text survives being escaped in XML, except line ends");
}

std::vector<Input> ListingSeeds() {
  return {ToInput("<?xml version=\"1.0\"?><ListBucketResult "
                  "xmlns='x'><EncodingType>url</EncodingType><IsTruncated>true"
                  "</IsTruncated><NextContinuationToken>a&amp;b</"
                  "NextContinuationToken><Contents><Key>a%2Fb+c</Key>"
                  "<Size>12</Size><ETag>&quot;e&#x22;</ETag></Contents><Contents><Key>d</"
                  "Key><Size>0</Size></Contents>"
                  "</ListBucketResult>"),
          ToInput("<Error><!-- c "
                  "--><Code>NoSuchKey</Code><Message><![CDATA[<x>]]></Message><Empty/></Error>")};
}

// Reads the input as JSON and XML with credentials, a file of profiles, and a command line.
void RunCredentials(Bytes input) {
  const std::string_view text = AsText(input);
  Check(CredentialsFromJson(text));
  Check(CredentialsFromSts(text));
  for (const auto& [section, settings] : ParseProfiles(text)) {
    for (const auto& [name, value] : settings)
      Promise(FitsInHeader(name + value) || text.find('\0') != text.npos ||
                  text.find('\r') != text.npos,
              "a setting is one line");
  }
  if (const auto words = CommandWords(text)) {
    std::size_t bytes = 0;
    for (const std::string& word : *words)
      bytes += word.size();
    Promise(bytes <= text.size(), "words are no longer than the command");
  }
}

std::vector<Input> CredentialsSeeds() {
  return {
      ToInput(R"({"Version":1,"AccessKeyId":"A","SecretAccessKey":"S","SessionToken":"T",)"
              R"("Expiration":"2026-11-22T22:17:01.5+01:00"})"),
      ToInput("<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><"
              "AccessKeyId>A"
              "</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T</"
              "SessionToken><Expiration>"
              "2026-11-22T22:17:01Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
              "</AssumeRoleWithWebIdentityResponse>"),
      ToInput("[default]\naws_access_key_id = A # c\n[profile  \"d\"]\r\ncredential_process = /x "
              "'a b' \"c\\\"\" d\\ e\n")};
}

// Reads the input as a store's URL, an endpoint, a percent-encoded text and a Content-Range.
void RunStoreUrl(Bytes input) {
  const std::string_view text = AsText(input);
  Promise(PercentDecoded(PercentEncoded(text, false)) == text,
          "text survives being percent-encoded");
  if (const auto range = ParseContentRange(text))
    Promise(range->first <= range->last, "a range is not empty");
  try {
    const HttpOrigin origin = ParseHttpOrigin(text, "endpoint");
    Promise(FitsInHeader(origin.host), "a host fits into a header");
  } catch (const Error&) {
  }
  try {
    const StoreUrl url = ParseStoreUrl(text);
    if (url.kind == StoreUrl::Kind::kPlain) {
      Promise(FitsInHeader(url.origin + url.prefix + url.query), "a URL fits into a header");
    } else {
      Promise(ParseStoreUrl(url.shown).prefix == url.prefix,
              "the shown URL of a bucket has the same prefix");
    }
  } catch (const Error&) {
  }
}

std::vector<Input> StoreUrlSeeds() {
  return {ToInput("s3://bucket.name/a b/c?d#e/"),
          ToInput("https://me:p%40ss@host:8443/a%20b/c d?sig=x&y#z"),
          ToInput("http://[::1]:9000/base"), ToInput("bytes 0-99/1234")};
}

}  // namespace sluice::fuzz

// The table lists composed letters by their accent, each after its base letter. The entries are
// from Unicode, for the scripts whose names occur in both forms: Macs decompose names, most other
// systems compose them. Korean syllables are computed. A letter with two accents is decomposed
// twice.
#include "writer/source/list/alike.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "format/ascii.h"
#include "writer/text.h"

namespace sluice {

namespace {

struct Accent {
  char16_t mark;
  std::u16string_view pairs;  // a letter, and the letter with the mark
};

constexpr Accent kAccents[] = {
    {0x0300,
     u"AÀEÈIÌOÒUÙaàeèiìoòuùÜǛüǜNǸnǹЕЀИЍеѐиѝĒḔēḕŌṐōṑWẀwẁÂẦâầĂẰăằÊỀêềÔỒôồƠỜơờƯỪưừYỲyỳἀἂἁἃ"
     u"ἈἊἉἋἐἒἑἓἘἚἙἛἠἢἡἣἨἪἩἫἰἲἱἳἸἺἹἻὀὂὁὃὈὊὉὋὐὒὑὓὙὛὠὢὡὣὨὪὩὫαὰεὲηὴιὶοὸυὺωὼΑᾺΕῈΗῊϊῒΙῚϋῢΥῪΟῸ"
     u"ΩῺ"},
    {0x0301,
     u"AÁEÉIÍOÓUÚYÝaáeéiíoóuúyýCĆcćLĹlĺNŃnńRŔrŕSŚsśZŹzźÜǗüǘGǴgǵÅǺåǻÆǼæǽØǾøǿΑΆΕΈΗΉΙΊΟΌΥΎ"
     u"ΩΏϊΐαάεέηήιίϋΰοόυύωώϒϓГЃКЌгѓкќÇḈçḉĒḖēḗÏḮïḯKḰkḱMḾmḿÕṌõṍŌṒōṓPṔpṕŨṸũṹWẂwẃÂẤâấĂẮăắÊẾ"
     u"êếÔỐôốƠỚơớƯỨưứἀἄἁἅἈἌἉἍἐἔἑἕἘἜἙἝἠἤἡἥἨἬἩἭἰἴἱἵἸἼἹἽὀὄὁὅὈὌὉὍὐὔὑὕὙὝὠὤὡὥὨὬὩὭ"},
    {0x0302, u"AÂEÊIÎOÔUÛaâeêiîoôuûCĈcĉGĜgĝHĤhĥJĴjĵSŜsŝWŴwŵYŶyŷZẐzẑẠẬạậẸỆẹệỌỘọộ"},
    {0x0303, u"AÃNÑOÕaãnñoõIĨiĩUŨuũVṼvṽÂẪâẫĂẴăẵEẼeẽÊỄêễÔỖôỗƠỠơỡƯỮưữYỸyỹ"},
    {0x0304,
     u"AĀaāEĒeēIĪiīOŌoōUŪuūÜǕüǖÄǞäǟȦǠȧǡÆǢæǣǪǬǫǭÖȪöȫÕȬõȭȮȰȯȱYȲyȳИӢиӣУӮуӯGḠgḡḶḸḷḹṚṜṛṝαᾱΑᾹ"
     u"ιῑΙῙυῡΥῩ"},
    {0x0306, u"AĂaăEĔeĕGĞgğIĬiĭOŎoŏUŬuŭУЎИЙийуўЖӁжӂАӐаӑЕӖеӗȨḜȩḝẠẶạặαᾰΑᾸιῐΙῘυῠΥῨ"},
    {0x0307,
     u"CĊcċEĖeėGĠgġIİZŻzżAȦaȧOȮoȯBḂbḃDḊdḋFḞfḟHḢhḣMṀmṁNṄnṅPṖpṗRṘrṙSṠsṡŚṤśṥŠṦšṧṢṨṣṩTṪtṫWẆ"
     u"wẇXẊxẋYẎyẏſẛ"},
    {0x0308,
     u"AÄEËIÏOÖUÜaäeëiïoöuüyÿYŸΙΪΥΫιϊυϋϒϔЕЁІЇеёіїАӒаӓӘӚәӛЖӜжӝЗӞзӟИӤиӥОӦоӧӨӪөӫЭӬэӭУӰуӱЧӴ"
     u"чӵЫӸыӹHḦhḧÕṎõṏŪṺūṻWẄwẅXẌxẍtẗ"},
    {0x0309, u"AẢaảÂẨâẩĂẲăẳEẺeẻÊỂêểIỈiỉOỎoỏÔỔôổƠỞơởUỦuủƯỬưửYỶyỷ"},
    {0x030A, u"AÅaåUŮuůwẘyẙ"},
    {0x030B, u"OŐoőUŰuűУӲуӳ"},
    {0x030C, u"CČcčDĎdďEĚeěLĽlľNŇnňRŘrřSŠsšTŤtťZŽzžAǍaǎIǏiǐOǑoǒUǓuǔÜǙüǚGǦgǧKǨkǩƷǮʒǯjǰHȞhȟ"},
    {0x030F, u"AȀaȁEȄeȅIȈiȉOȌoȍRȐrȑUȔuȕѴѶѵѷ"},
    {0x0311, u"AȂaȃEȆeȇIȊiȋOȎoȏRȒrȓUȖuȗ"},
    {0x0313, u"αἀΑἈεἐΕἘηἠΗἨιἰΙἸοὀΟὈυὐωὠΩὨρῤ"},
    {0x0314, u"αἁΑἉεἑΕἙηἡΗἩιἱΙἹοὁΟὉυὑΥὙωὡΩὩρῥΡῬ"},
    {0x031B, u"OƠoơUƯuư"},
    {0x0323,
     u"BḄbḅDḌdḍHḤhḥKḲkḳLḶlḷMṂmṃNṆnṇRṚrṛSṢsṣTṬtṭVṾvṿWẈwẉZẒzẓAẠaạEẸeẹIỊiịOỌoọƠỢơợUỤuụƯỰưự"
     u"YỴyỵ"},
    {0x0324, u"UṲuṳ"},
    {0x0325, u"AḀaḁ"},
    {0x0326, u"SȘsșTȚtț"},
    {0x0327, u"CÇcçGĢgģKĶkķLĻlļNŅnņRŖrŗSŞsşTŢtţEȨeȩDḐdḑHḨhḩ"},
    {0x0328, u"AĄaąEĘeęIĮiįUŲuųOǪoǫ"},
    {0x032D, u"DḒdḓEḘeḙLḼlḽNṊnṋTṰtṱUṶuṷ"},
    {0x032E, u"HḪhḫ"},
    {0x0330, u"EḚeḛIḬiḭUṴuṵ"},
    {0x0331, u"BḆbḇDḎdḏKḴkḵLḺlḻNṈnṉRṞrṟTṮtṯZẔzẕhẖ"},
    {0x0342, u"ἀἆἁἇἈἎἉἏἠἦἡἧἨἮἩἯἰἶἱἷἸἾἹἿὐὖὑὗὙὟὠὦὡὧὨὮὩὯαᾶηῆιῖϊῗυῦϋῧωῶ"},
    {0x0345,
     u"ἀᾀἁᾁἂᾂἃᾃἄᾄἅᾅἆᾆἇᾇἈᾈἉᾉἊᾊἋᾋἌᾌἍᾍἎᾎἏᾏἠᾐἡᾑἢᾒἣᾓἤᾔἥᾕἦᾖἧᾗἨᾘἩᾙἪᾚἫᾛἬᾜἭᾝἮᾞἯᾟὠᾠὡᾡὢᾢὣᾣὤᾤὥᾥὦᾦὧᾧ"
     u"ὨᾨὩᾩὪᾪὫᾫὬᾬὭᾭὮᾮὯᾯὰᾲαᾳάᾴᾶᾷΑᾼὴῂηῃήῄῆῇΗῌὼῲωῳώῴῶῷΩῼ"},
    {0x0653, u"اآ"},
    {0x0654, u"اأوؤيئەۀہۂےۓ"},
    {0x0655, u"اإ"},
    {0x3099,
     u"かがきぎくぐけげこごさざしじすずせぜそぞただちぢつづてでとどはばひびふぶへべほぼうゔゝゞカガ"
     u"キギクグケゲコゴサザシジスズセゼソゾタダチヂツヅテデトドハバヒビフブ"
     u"ヘベホボウヴワヷヰヸヱヹヲヺヽヾ"},
    {0x309A, u"はぱひぴふぷへぺほぽハパヒピフプヘペホポ"},
};

using Letter = std::uint32_t;

// The base letter and the mark of a composed letter; nullopt for any other.
std::optional<std::pair<Letter, Letter>> PartsOf(Letter letter) {
  static const auto parts = [] {
    std::unordered_map<Letter, std::pair<Letter, Letter>> made;
    for (const Accent& accent : kAccents) {
      for (std::size_t i = 0; i + 1 < accent.pairs.size(); i += 2)
        made.emplace(accent.pairs[i + 1], std::pair(accent.pairs[i], accent.mark));
    }
    return made;
  }();
  const auto found = parts.find(letter);
  return found == parts.end() ? std::nullopt : std::optional(found->second);
}

void AppendLetter(Letter letter, std::string& text) {
  const auto add = [&text](Letter byte) { text += static_cast<char>(byte); };
  if (letter < 0x80) return add(letter);
  if (letter < 0x800) {
    add(0xC0 | letter >> 6);
  } else {
    add(0xE0 | letter >> 12);
    add(0x80 | (letter >> 6 & 63));
  }
  add(0x80 | (letter & 63));
}

// Letters of up to three bytes, as all in the table and all syllables are.
void AppendDecomposed(Letter letter, std::string& text) {
  constexpr Letter kSyllables = 0xAC00, kCount = 11172, kVowels = 21, kTails = 28;
  if (letter >= kSyllables && letter < kSyllables + kCount) {
    const Letter number = letter - kSyllables;
    AppendLetter(0x1100 + number / (kVowels * kTails), text);
    AppendLetter(0x1161 + number % (kVowels * kTails) / kTails, text);
    if (number % kTails != 0) AppendLetter(0x11A7 + number % kTails, text);
  } else if (const auto parts = PartsOf(letter)) {
    AppendDecomposed(parts->first, text);
    AppendLetter(parts->second, text);
  } else {
    AppendLetter(letter, text);
  }
}

}  // namespace

std::string Decomposed(std::string_view text) {
  std::string made;
  if (!IsUtf8(text)) return std::string(text);
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<std::uint8_t>(text[at]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length == 1 || length == 4) {
      made += text.substr(at, length);
    } else {
      Letter letter = lead & (length == 2 ? 31U : 15U);
      for (std::size_t i = 1; i < length; ++i)
        letter = letter << 6 | (static_cast<std::uint8_t>(text[at + i]) & 63U);
      AppendDecomposed(letter, made);
    }
    at += length;
  }
  return made;
}

std::string AlikeForm(std::string_view name) {
  return LowerCase(Decomposed(name));
}

std::string AlikeValue(std::string_view value) {
  constexpr double kExact = 1LL << 53;  // larger numbers of other digits could be equal
  value = Trimmed(value);
  const auto number = ParseNumber<double>(value.starts_with('+') ? value.substr(1) : value);
  if (!number || !(std::abs(*number) < kExact)) return AlikeForm(value);
  char text[32];
  const double shown = *number == 0 ? 0.0 : *number;  // -0 is 0
  return {text, std::to_chars(text, text + sizeof text, shown).ptr};
}

const AlikeFiles::Names& AlikeFiles::NamesIn(const std::string& folder) {
  const auto [known, added] = folders_.try_emplace(folder);
  if (!added) return known->second;
  std::error_code error;
  const std::filesystem::path at = root_ / folder;
  for (std::filesystem::directory_iterator entry(at.empty() ? "." : at, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    known->second.by_name.emplace(AlikeForm(name), name);
    const std::size_t dot = name.rfind('.');
    if (dot != std::string::npos && dot > 0)
      known->second.by_stem.emplace(AlikeForm(std::string_view(name).substr(0, dot)), name);
  }
  return known->second;
}

std::vector<std::string> AlikeFiles::Find(const std::string& path, ByForm Names::*by) {
  const std::filesystem::path parts(path);
  std::vector<std::string> found = {""};
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    const bool last = std::next(part) == parts.end();
    std::vector<std::string> exact, alike;
    for (const std::string& folder : found) {
      const auto [begin, end] =
          (NamesIn(folder).*(last ? by : &Names::by_name)).equal_range(AlikeForm(part->native()));
      for (auto name = begin; name != end; ++name) {
        const bool same = name->second.starts_with(part->native());
        (same ? exact : alike).push_back((std::filesystem::path(folder) / name->second).native());
      }
    }
    found = exact.empty() ? std::move(alike) : std::move(exact);
  }
  return found;
}

}  // namespace sluice

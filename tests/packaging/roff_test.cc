#include "packaging/manual/roff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace actord::manual {
namespace {

// The page without its heading.
std::string Body(const RoffPage& page) {
  const std::string heading = RoffPage({"n", 1, "2026-11-27", "1"}).text();
  EXPECT_TRUE(page.text().starts_with(heading));
  return page.text().substr(heading.size());
}

RoffPage Page() { return RoffPage({"n", 1, "2026-11-27", "1"}); }

TEST(Roff, TitleNamesPageSectionDateAndVersion) {
  const RoffPage page({"actord.toml", 5, "2026-11-27", "0.1.0"});
  EXPECT_THAT(
      page.text(),
      testing::HasSubstr("\n.TH actord.toml 5 2026-11-27 \"actord 0.1.0\" "));
}

TEST(Roff, TextCannotContainRequestsOrEscapes) {
  RoffPage page = Page();
  page.Paragraph(".so /etc/passwd");
  page.Paragraph("'so it's");
  page.Paragraph("\\fB--x ^~` \"q\"");
  EXPECT_EQ(Body(page),
            ".PP\n\\&.so /etc/passwd\n"
            ".PP\n\\(aqso it\\(aqs\n"
            ".PP\n\\efB\\-\\-x \\(ha\\(ti\\(ga \\(dqq\\(dq\n");
}

TEST(Roff, WrappedLineThatBeginsWithAPeriodIsNoRequest) {
  RoffPage page = Page();
  page.Paragraph(std::string(75, 'x') + " .toml");
  EXPECT_EQ(Body(page), ".PP\n" + std::string(75, 'x') + "\n\\&.toml\n");
}

TEST(Roff, HeadingBeginsItsFirstParagraph) {
  RoffPage page = Page();
  page.Section("NAME");
  page.Paragraph("one");
  page.Paragraph("two");
  page.Paragraph("");
  EXPECT_EQ(Body(page), ".SH \"NAME\"\none\n.PP\ntwo\n");
}

TEST(Roff, TermsHaveNameValueAndText) {
  RoffPage page = Page();
  page.Term("--listen", "ADDRESS", "Serves there.");
  page.Term("--version", "", "");
  EXPECT_EQ(Body(page),
            ".TP\n\\fB\\-\\-listen\\fR \\fIADDRESS\\fR\nServes there.\n"
            ".TP\n\\fB\\-\\-version\\fR\n");
}

TEST(Roff, ListsOfChoicesMayBeBroken) {
  RoffPage page = Page();
  page.Term("--sort", "pid|type", "");
  EXPECT_EQ(Body(page), ".TP\n\\fB\\-\\-sort\\fR \\fIpid|\\:type\\fR\n");
}

TEST(Roff, LinesStayAsTheyAre) {
  RoffPage page = Page();
  page.Lines("\n  a  b\n\n.c\n\n");
  EXPECT_EQ(Body(page), ".PP\n.nf\n\\f(CR  a  b\n\\&\n\\&.c\n\\fR\n.fi\n");
  RoffPage empty = Page();
  empty.Lines("\n\n");
  EXPECT_EQ(Body(empty), "");
}

}  // namespace
}  // namespace actord::manual

package archtest

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named matches what a law calls its test; declared, what a test file has.
var (
	named    = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9_]*(?:/\w+)?`)
	declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
)

// TestEachLawNamesItsTest reads the package comments: in a list below a line that
// speaks of laws each item names a test, and each test that is named is there.
func TestEachLawNamesItsTest(t *testing.T) {
	tests := map[string]bool{}
	var comments []string // by file: its name, then the comment
	err := filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range declared.FindAllSubmatch(src, -1) {
				tests[string(m[1])] = true
			}
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ParseComments|parser.PackageClauseOnly)
		if err == nil && f.Doc != nil {
			comments = append(comments, path, f.Doc.Text())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	laws := 0
	for i := 0; i < len(comments); i += 2 {
		for _, law := range lawsOf(comments[i+1]) {
			laws++
			if !named.MatchString(law) {
				t.Errorf("%s: a law names no test: %.60s…", comments[i], law)
			}
		}
		for _, name := range named.FindAllString(comments[i+1], -1) {
			top, sub, _ := strings.Cut(name, "/")
			_, script := os.Stat("../../cmd/swarm/testdata/script/" + sub + ".txtar")
			if !tests[top] || sub != "" && script != nil {
				t.Errorf("%s: there is no %s", comments[i], name)
			}
		}
	}
	if laws < 150 {
		t.Errorf("%d laws were found only", laws)
	}
}

// lawsOf returns the items of the lists of a package comment that follow the word
// law, up to the next text that is none.
func lawsOf(text string) (laws []string) {
	speaks := false
	for _, b := range new(comment.Parser).Parse(text).Content {
		switch b := b.(type) {
		case *comment.Paragraph:
			speaks = lawful(b.Text)
		case *comment.Heading:
			speaks = lawful(b.Text)
		case *comment.List:
			for _, item := range b.Items {
				if speaks {
					laws = append(laws, words(item.Content))
				}
			}
		}
	}
	return laws
}

func lawful(text []comment.Text) bool {
	return strings.Contains(strings.ToLower(words([]comment.Block{&comment.Paragraph{Text: text}})), "law")
}

func words(content []comment.Block) string {
	return string(new(comment.Printer).Text(&comment.Doc{Content: content}))
}

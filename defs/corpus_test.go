package defs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpusFiles lists the real agent files, which lie beside the repository on
// machines that have them.
func corpusFiles(tb testing.TB) []string {
	tb.Helper()
	dir := filepath.Join("..", "..", "shared", "corpus", "agents")
	if _, err := os.Stat(dir); err != nil {
		tb.Skip("the corpus of real agents is not on this machine")
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

// simpleReading finds a field without any YAML: the text after the key up to
// the next of the keys that real files use, without quotes, escapes, or block
// indicators, and with every run of blanks as one.
func simpleReading(text, key string) (string, bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	_, rest, ok := strings.Cut(strings.TrimLeft(text, " \n"), "---\n")
	front, _, ok2 := strings.Cut(rest, "\n---")
	_, value, ok3 := strings.Cut("\n"+front, "\n"+key+":")
	if !ok || !ok2 || !ok3 {
		return "", false
	}
	for _, next := range []string{"name", "description", "tools", "model", "color", "permissionMode", "tags", "version", "metadata", "date_created", "risk", "category", "mcp-servers", "mode", "source", "status", "owner", "author", "last_updated", "hooks"} {
		value, _, _ = strings.Cut(value, "\n"+next+":")
	}
	return squash(value), true
}

func squash(s string) string {
	s = strings.TrimSpace(s)
	for _, block := range []string{">-", "|-", ">", "|"} {
		if strings.HasPrefix(s, block+"\n") {
			s = s[len(block):]
		}
	}
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		if s[0] == '"' {
			s = strings.NewReplacer(`\n`, " ", `\"`, `"`, `\\`, `\`).Replace(s[1 : len(s)-1])
		} else {
			s = strings.ReplaceAll(s[1:len(s)-1], "''", "'")
		}
	}
	return strings.Join(strings.Fields(s), " ")
}

func TestCorpusNamesAndDescriptionsAreRight(t *testing.T) {
	counts := map[string]int{}
	for _, path := range corpusFiles(t) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		counts["files"]++
		d, ps, err := Parse(path, src, User)
		name, hasName := simpleReading(string(src), "name")
		if !hasName {
			counts["without frontmatter or name"]++
			if err == nil {
				t.Errorf("%s: loaded as %q, but a simple reading finds no name", path, d.Name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: not loaded: %v", path, err)
			continue
		}
		counts["loaded"]++
		if len(ps) > 0 {
			counts["with warnings"]++
		}
		for _, p := range ps {
			if strings.Contains(p.Text, "read as:") {
				counts["repaired"]++
				break
			}
		}
		desc, _ := simpleReading(string(src), "description")
		if got := squash(d.Name); got != name {
			t.Errorf("%s: name %q, a simple reading says %q", path, got, name)
		}
		if got := strings.Join(strings.Fields(d.Description), " "); got != desc {
			t.Errorf("%s: description\n%s\na simple reading says\n%s", path, got, desc)
		}
	}
	if counts["loaded"]+counts["without frontmatter or name"] != counts["files"] {
		t.Error("some file with frontmatter did not load")
	}
	t.Logf("corpus: %v", counts)
}

package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPageNamesItsTests holds the table of docs/security.md to the tests: each row
// names one that exists or says that there is none and why, and each test about a
// published weakness has its row.
func TestSecurityPageNamesItsTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "## Published weaknesses")
	if !found {
		t.Fatal("docs/security.md has no table of weaknesses")
	}
	tests := declaredTests(t)
	shown, rows := map[string]bool{}, 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || strings.Contains(line, "---") || strings.Contains(line, "| weakness |") {
			continue
		}
		rows++
		name := regexp.MustCompile(`Test\w+`).FindString(cells[3])
		switch {
		case name == "" && strings.TrimSpace(cells[3]) == "none" && len(strings.TrimSpace(cells[4])) > 20:
		case !tests[name]:
			t.Errorf("the row of %s names %q, which is no test", strings.TrimSpace(cells[1]), name)
		}
		shown[name] = true
	}
	if rows < 50 {
		t.Errorf("%d rows were found", rows)
	}
	for name := range tests {
		if strings.HasPrefix(name, "TestCVE_") && !shown[name] {
			t.Errorf("%s has no row in docs/security.md", name)
		}
	}
}

// declaredTests returns the names of all test functions.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(src, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestEachModuleHasItsReason compares the modules that go.mod requires directly with the
// table of docs/decisions/0002-dependencies.md.
func TestEachModuleHasItsReason(t *testing.T) {
	raw, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(raw, &mod); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/decisions/0002-dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| --- | --- | --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	shown := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(table, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			shown[m[1]] = true
		}
	}
	required := map[string]bool{}
	for _, r := range mod.Require {
		if r.Indirect {
			continue
		}
		required[r.Path] = true
		if !shown[r.Path] {
			t.Errorf("docs/decisions/0002-dependencies.md does not name %s: add what it is for and what it weighs", r.Path)
		}
	}
	for path := range shown {
		if !required[path] {
			t.Errorf("docs/decisions/0002-dependencies.md names %s, which go.mod does not require directly", path)
		}
	}
}

package defedit

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/defs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLintShowsTheCorrectedLine(t *testing.T) {
	dir := t.TempDir()
	a := put(t, filepath.Join(dir, "a.md"), "---\nname: a\ndescription: Use: often\ntools: [Read, Bash(git: x)\n---\n")
	put(t, filepath.Join(dir, "sub", "README.md"), "# Notes\n")
	b := put(t, filepath.Join(dir, "sub", "b.md"), "---\nname: b\ntools: {x: y}\ndescription: d\n---\n")
	r, err := Lint([]string{dir}, Checks{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Files != 3 || r.Agents != 1 || r.Repaired != 2 || r.Errors != 1 {
		t.Errorf("counted %+v", r)
	}
	got := map[string]string{}
	for _, f := range r.Findings {
		if f.Corrected != "" {
			got[filepath.Base(f.Path)+":"+string(rune('0'+f.Line))] = f.Corrected
		}
		if f.Severity == "error" && (f.Path != b || f.Line != 3) {
			t.Errorf("an error at %s:%d: %s", f.Path, f.Line, f.Text)
		}
	}
	want := map[string]string{"a.md:3": `description: "Use: often"`, "a.md:4": `tools: "Read, Bash(git: x)"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	set := &defs.Set{}
	_, set.Problems, _ = defs.Parse(a, []byte("---\nname: a\ndescription: Use: often\n---\n"), defs.User)
	if r := LintSet(set, Checks{}); r.Repaired != 1 || r.Findings[0].Corrected != want["a.md:3"] {
		t.Errorf("of a set: %+v", r)
	}
}

func TestLintNamesWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := Lint([]string{filepath.Join(dir, "gone")}, Checks{}); err == nil || !strings.Contains(err.Error(), "name a definition or a folder") {
		t.Errorf("a missing path gives %v", err)
	}
	readme := put(t, filepath.Join(dir, "README.md"), "# Notes\n")
	if r, err := Lint([]string{readme}, Checks{}); err != nil || r.Errors != 1 {
		t.Errorf("documentation named as a definition gives %+v, %v", r, err)
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "x.md")); err != nil {
		t.Fatal(err)
	}
	if r, err := Lint([]string{dir}, Checks{}); err != nil || r.Errors != 1 || !strings.Contains(r.Findings[len(r.Findings)-1].Text, "no such file") {
		t.Errorf("a dangling link gives %+v, %v", r, err)
	}
}

func TestDraftsReadBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -~äß\n:#"'\[\]{}&*|>%@]{1,60}`)
		d := Draft{
			Name: rapid.StringMatching(`[a-z0-9_.' ]{1,20}`).Draw(t, "name"), Description: text.Draw(t, "description"),
			Prompt: text.Draw(t, "prompt"), Tools: rapid.SampledFrom([]string{"", "*", "[]", "Read", "Read, Bash(git diff:*), Agent(a, b)"}).Draw(t, "tools"),
			Model: rapid.SampledFrom([]string{"", "opus", "inherit", "claude-x-1[1m]"}).Draw(t, "model"),
			Color: rapid.SampledFrom(append(defs.Colors(), "")).Draw(t, "color"),
		}
		if strings.TrimSpace(d.Name) == "" || strings.TrimSpace(d.Description) == "" {
			t.Skip("incomplete")
		}
		src, err := d.Render()
		var bad *DraftError
		if errors.As(err, &bad) && strings.Contains(err.Error(), "name") {
			t.Skip("no name")
		}
		got, problems, perr := defs.Parse("x.md", src, defs.User)
		if err != nil || perr != nil || len(problems) > 0 {
			t.Fatalf("%+v gives %v, %v, %v\n%s", d, err, perr, problems, src)
		}
		wantTools := map[string][]string{"": nil, "*": nil, "[]": {}, "Read": {"Read"}}[d.Tools]
		if strings.Contains(d.Tools, "Agent") {
			wantTools = []string{"Read", "Bash(git diff:*)", "Agent(a, b)"}
		}
		if got.Name != strings.TrimSpace(d.Name) || got.Description != strings.TrimSpace(d.Description) ||
			got.Body != strings.TrimSpace(d.Prompt) || got.Model != d.Model || got.Color != d.Color || !slices.Equal(got.Tools, wantTools) ||
			(got.Tools == nil) != (wantTools == nil) {
			t.Fatalf("%+v read back as %+v\n%s", d, got, src)
		}
	})
}

func TestDraftsThatDoNotLoadAreRefused(t *testing.T) {
	for want, d := range map[string]Draft{
		"no name":                  {Description: "d"},
		"no description":           {Name: "a"},
		"reserved for plugins":     {Name: "a:b", Description: "d"},
		"path separator":           {Name: "a/b", Description: "d"},
		"more than 256 characters": {Name: strings.Repeat("x", 300), Description: "d"},
		"is not the id of a model": {Name: "a", Description: "d", Model: "the best one"},
		"color":                    {Name: "a", Description: "d", Color: "mauve"},
	} {
		if _, err := d.Render(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v gives %v, want %q", d, err, want)
		}
	}
	if err := CheckName("fine"); err != nil {
		t.Error(err)
	}
	if CheckName("-x") == nil || CheckName(" ") == nil || CheckModel("a b") == nil {
		t.Error("a bad name or model passes")
	}
	if got := UnknownTools("Read, Raed(x, y), mcp__a__b, *", []string{"Read"}); !slices.Equal(got, []string{"Raed(x, y)"}) {
		t.Errorf("unknown tools: %q", got)
	}
}

func TestFileNamesAreSafe(t *testing.T) {
	for agent, want := range map[string]string{
		"reviewer": "reviewer.md", "Größe 2": "Größe-2.md", `a*?"b`: "a---b.md", "...": "agent.md",
		strings.Repeat("ü", 250): strings.Repeat("ü", 100) + ".md",
	} {
		if got := FileName(agent); got != want {
			t.Errorf("%q gives %q, want %q", agent, got, want)
		}
	}
}

func TestWriteReplacesOnlyWithForce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "a.md")
	var exists *ExistsError
	if err := Write(path, []byte("one"), false); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("two"), false); !errors.As(err, &exists) {
		t.Errorf("the second write gives %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "one" {
		t.Errorf("the file holds %q, %v", got, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(filepath.Dir(path), "link.md")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("three"), true); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if got, rerr := os.ReadFile(path); rerr != nil || string(got) != "three" || err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("with force the file holds %q (%v, %v, %v)", got, info.Mode(), rerr, err)
	}
}

func TestWriteIsAtomic(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "a.md"), "old")
	if err := Write(path, []byte("new"), false); err == nil {
		t.Error("overwritten")
	}
	if err := Write(filepath.Join(path, "b.md"), []byte("new"), true); err == nil || !strings.Contains(err.Error(), "choose another location") {
		t.Errorf("below a file: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestOnlyUserAndProjectFilesAreEdited(t *testing.T) {
	for _, c := range []struct {
		from defs.Source
		path string
		want string
	}{
		{defs.User, "/a/x.md", ""},
		{defs.Project, "/a/x.MD", ""},
		{defs.Project, "/a/settings.json", "among other settings"},
		{defs.BuiltIn, "builtin/x.md", "built into swarm"},
		{defs.Plugin, "/p/x.md", "belongs to a plugin"},
		{defs.Managed, "/m/x.md", "your organisation"},
		{defs.Flag, "--agents", "given with --agents"},
	} {
		err := Editable(defs.Definition{Name: "x", Source: c.from, Path: c.path})
		var fixed *NotEditableError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &fixed) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v %s gives %v", c.from, c.path, err)
		}
	}
}

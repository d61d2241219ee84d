package defs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// tree writes files into a new directory.
func tree(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// file is an agent whose description says where it comes from.
func file(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\nbody of " + name + "\n"
}

func load(tb testing.TB, o Options) *Set {
	tb.Helper()
	s, err := Load(o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// winners shows each active agent with the description that won.
func winners(s *Set) map[string]string {
	out := map[string]string{}
	for _, d := range s.Active {
		out[d.Name] = d.Source.String() + ": " + d.Description
	}
	return out
}

func TestLoadHigherSourceWins(t *testing.T) {
	dir := tree(t, map[string]string{
		"home/.claude/agents/a.md":    file("a", "home"),
		"home/.claude/agents/b.md":    file("b", "home"),
		"home/.claude/agents/c.md":    file("c", "home"),
		"home/.claude/agents/d.md":    file("d", "home"),
		"home/.claude/agents/e.md":    file("Explore", "mine"),
		"repo/.claude/agents/b.md":    file("b", "repo"),
		"repo/.claude/agents/c.md":    file("c", "repo"),
		"repo/.claude/agents/d.md":    file("d", "repo"),
		"managed/.claude/agents/d.md": file("d", "boss"),
		"added/.claude/agents/b.md":   file("b", "added"),
		"added/.claude/agents/x.md":   file("x", "added"),
		"repo/.git/HEAD":              "",
	})
	at := func(s string) string { return filepath.Join(dir, s) }
	flag := `{"c": {"description": "flag", "prompt": "p"}, "d": {"description": "flag", "prompt": "p"}}`
	s := load(t, Options{Cwd: at("repo"), Home: at("home"), ManagedDir: at("managed"), AddDirs: []string{at("added")}, FlagJSON: flag})
	want := map[string]string{
		"a": "user: home", "b": "project: repo", "c": "flag: flag", "d": "managed: boss", "x": "project: added", "Explore": "user: mine",
	}
	got := winners(s)
	for _, name := range builtinNames() {
		if name != "Explore" {
			delete(got, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(s.Problems) > 0 {
		t.Errorf("problems: %v", texts(s.Problems))
	}
	if len(s.All) != len(builtinNames())+5+3+1+2+2 {
		t.Errorf("%d definitions in all", len(s.All))
	}
	if d, _ := s.Lookup("general-purpose"); d.Source != BuiltIn {
		t.Errorf("general-purpose comes from %s", d.Source)
	}
	s = load(t, Options{Cwd: at("repo"), Home: at("home"), Simple: true})
	if diff := cmp.Diff(builtinNames(), s.Names()); diff != "" {
		t.Error(diff)
	}
	if s = load(t, Options{NoBuiltins: true}); len(s.All) != 0 {
		t.Errorf("an empty Options loads %v", s.Names())
	}
	if s = load(t, Options{NoBuiltins: true, ConfigDir: at("home/.claude")}); len(s.Active) != 5 {
		t.Errorf("ConfigDir loads %v", s.Names())
	}
}

func TestLoadNearestProjectDirectoryWins(t *testing.T) {
	dir := tree(t, map[string]string{
		".claude/agents/a.md":            file("a", "above the repository"),
		"repo/.git/HEAD":                 "",
		"repo/.claude/agents/a.md":       file("a", "root"),
		"repo/.claude/agents/b.md":       file("b", "root"),
		"repo/sub/.claude/agents/x/a.md": file("a", "sub"),
		"repo/sub/deep/file":             "",
	})
	s := load(t, Options{Cwd: filepath.Join(dir, "repo/sub/deep"), NoBuiltins: true})
	if diff := cmp.Diff(map[string]string{"a": "project: sub", "b": "project: root"}, winners(s)); diff != "" {
		t.Error(diff)
	}
	// Outside a repository only the directory itself counts.
	if err := os.RemoveAll(filepath.Join(dir, "repo/.git")); err != nil {
		t.Fatal(err)
	}
	s = load(t, Options{Cwd: filepath.Join(dir, "repo/sub"), NoBuiltins: true})
	if diff := cmp.Diff(map[string]string{"a": "project: sub"}, winners(s)); diff != "" {
		t.Error(diff)
	}
	// A home that is a repository is read as the user's, once.
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	s = load(t, Options{Cwd: filepath.Join(dir, "repo"), Home: dir, NoBuiltins: true})
	if len(s.All) != 3 || s.All[0].Source != User {
		t.Errorf("%d definitions, the first from %s", len(s.All), s.All[0].Source)
	}
}

func TestLoadOneBrokenFileNeverBlocksTheOthers(t *testing.T) {
	dir := tree(t, map[string]string{
		".claude/agents/good.md":          file("good", "d"),
		".claude/agents/README.md":        "# How to write agents\n",
		".claude/agents/colon.md":         file("a:b", "d"),
		".claude/agents/slash.md":         file("a/b", "d"),
		".claude/agents/long.md":          file(strings.Repeat("x", 300), "d"),
		".claude/agents/Case.md":          file("Good", "d"),
		".claude/agents/twice.md":         file("good", "again"),
		".claude/agents/map.md":           "---\nname: m\ndescription: d\ntools: {a: b}\n---\n",
		".claude/agents/turns.md":         "---\nname: turns\ndescription: d\nmaxTurns: -1\n---\n",
		".claude/agents/nameless.md":      "---\ndescription: d\n---\n",
		".claude/agents/sub/dir.md/in.md": file("inner", "d"),
		".claude/agents/notes.txt":        "not an agent",
		".claude/agents/big.md":           agent() + strings.Repeat("x", MaxFileSize),
		"elsewhere/linked.md":             file("linked", "d"),
	})
	agents := filepath.Join(dir, ".claude/agents")
	for from, to := range map[string]string{"loop": ".", "self.md": "self.md", "gone.md": "nowhere", "more": "../../elsewhere", "link.md": "good.md"} {
		if err := os.Symlink(to, filepath.Join(agents, from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(agents, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := load(t, Options{Cwd: dir, NoBuiltins: true})
	if diff := cmp.Diff([]string{"Good", "good", "inner", "linked", "turns"}, s.Names()); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, l := range texts(s.Problems) {
		got = append(got, strings.ReplaceAll(l, agents+"/", ""))
	}
	want := []string{
		"FATAL README.md:1: no frontmatter, so this is read as documentation; an agent starts with a line ---",
		"FATAL big.md: the file has 4194305 bytes and the limit is 4194304; shorten it",
		`FATAL colon.md:2: the name "a:b" holds ":", which is reserved for plugins; choose another`,
		"FATAL gone.md: the link leads nowhere: no such file or directory",
		`good.md:1: the name "good" differs from "Good" (Case.md) only in case or separators; only the exact spelling tells them apart`,
		`link.md:1: agent "good" is already defined in good.md, which is used; rename one of them`,
		`FATAL long.md:2: the name "` + strings.Repeat("x", 60) + `…" has more than 256 characters; choose another`,
		"FATAL loop: a link leads back to " + agents + ", which is already read; remove the link",
		"FATAL map.md:4: tools must be a list or words separated by commas, not a map",
		"FATAL nameless.md:2: no name; add a line name: to the frontmatter",
		"FATAL pipe.md: is not a regular file and is not opened",
		"FATAL self.md: the link leads nowhere: too many levels of symbolic links",
		`FATAL slash.md:2: the name "a/b" holds a path separator; choose another`,
		"sub/dir.md: is a directory, although its name ends in .md; the files in it are read",
		`turns.md:4: maxTurns must be a whole number above 0, not "-1"; no limit is set`,
		`twice.md:1: agent "good" is already defined in good.md, which is used; rename one of them`,
	}
	want[0] = strings.TrimPrefix(want[0], "FATAL ")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLoadFileThatFailsWhileReading needs no permissions, which root does not
// have to heed: reading a process's memory from its start fails.
func TestLoadFileThatFailsWhileReading(t *testing.T) {
	if _, err := os.Stat("/proc/self/mem"); err != nil {
		t.Skip("there is no /proc here")
	}
	dir := tree(t, map[string]string{".claude/agents/a.md": file("a", "d")})
	path := filepath.Join(dir, ".claude/agents/b.md")
	if err := os.Symlink("/proc/self/mem", path); err != nil {
		t.Fatal(err)
	}
	s := load(t, Options{Cwd: dir, NoBuiltins: true})
	want := []string{"FATAL " + path + ": cannot be read: input/output error"}
	if diff := cmp.Diff(want, texts(s.Problems)); diff != "" || len(s.Active) != 1 {
		t.Error(s.Names(), diff)
	}
}

func TestLoadUnreadableFileIsAProblem(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := tree(t, map[string]string{".claude/agents/a.md": file("a", "d"), ".claude/agents/b.md": file("b", "d"), ".claude/agents/c/d.md": file("d", "d")})
	for _, p := range []string{"a.md", "c"} {
		if err := os.Chmod(filepath.Join(dir, ".claude/agents", p), 0); err != nil {
			t.Fatal(err)
		}
	}
	s := load(t, Options{Cwd: dir, NoBuiltins: true})
	if len(s.Active) != 1 || len(s.Problems) != 2 || !s.Problems[0].Fatal {
		t.Errorf("%v, %v", s.Names(), texts(s.Problems))
	}
	if err := os.Chmod(filepath.Join(dir, ".claude/agents/c"), 0o700); err != nil {
		t.Fatal(err) // so that the directory can be removed
	}
}

func TestLoadIsDeterministic(t *testing.T) {
	files := map[string]string{}
	for i := range 60 {
		files[fmt.Sprintf(".claude/agents/%d/x%d.md", i%7, i)] = file(fmt.Sprintf("n%d", i%40), fmt.Sprintf("from: %d", i))
	}
	dir := tree(t, files)
	first := load(t, Options{Cwd: dir})
	for range 20 {
		s := load(t, Options{Cwd: dir})
		if diff := cmp.Diff(texts(first.Problems), texts(s.Problems)); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff([][]Definition{first.Active, first.All}, [][]Definition{s.Active, s.All}); diff != "" {
			t.Fatal(diff)
		}
	}
	if len(first.Active) != 40+len(builtinNames()) || len(first.All) != 60+len(builtinNames()) {
		t.Errorf("%d active of %d", len(first.Active), len(first.All))
	}
}

func TestLookupIgnoresCaseAndSeparators(t *testing.T) {
	s := load(t, Options{FlagJSON: `{"code-reviewer": {"description": "d"}, "A": {"description": "big"}, "a": {"description": "small"}, "explore": {"description": "mine"}}`})
	for name, want := range map[string]string{"code-reviewer": "code-reviewer", "Code_Reviewer": "code-reviewer", "codereviewer": "code-reviewer", "CODE REVIEWER": "code-reviewer", "A": "A", "a": "a", "Explore": "Explore", "EXPLORE": "explore", "General Purpose": "general-purpose", "nobody": "", "": "", "-": ""} {
		d, ok := s.Lookup(name)
		if ok != (want != "") || d.Name != want {
			t.Errorf("Lookup(%q) = %q, %v, want %q", name, d.Name, ok, want)
		}
	}
}

func TestParseFlag(t *testing.T) {
	ds, ps, err := ParseFlag(`{
  "one": {"description": "d: e", "prompt": " body ", "tools": ["Read", "Bash(a, b)"], "maxTurns": 3, "background": true, "model": "inherit", "color": "red"},
  "two": {"description": "d", "tools": [], "mcpServers": [{"x": {"port": 1}}, {"y": {"url": "u"}}], "junk": 1},
  "bad": {"prompt": "p"},
  "worse": 3,
  "a:b": {"description": "d"},
  "map": {"description": "d",
     "tools": {"a": "b"}}
}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Definition{
		{Name: "one", Description: "d: e", Body: "body", Line: 2, Tools: []string{"Read", "Bash(a, b)"}, MaxTurns: 3, Background: true, Model: "inherit", Color: "red", Source: Flag, Path: FlagPath},
		{Name: "two", Description: "d", Tools: []string{}, Source: Flag, Path: FlagPath, MCPServers: []MCPServer{{"y", rawJSON(`{"url":"u"}`)}}, Extra: map[string]rawJSON{"junk": rawJSON("1")}},
	}
	if diff := cmp.Diff(want, ds, cmpopts.IgnoreFields(Definition{}, "Lines")); diff != "" {
		t.Error(diff)
	}
	if ds[1].LineOf("junk") != 3 {
		t.Errorf("the lines are %v", ds[1].Lines)
	}
	wantProblems := []string{
		`--agents:3: the MCP server "x" has neither a command nor a url; it is ignored`, `--agents:3: unknown field "junk" is ignored`,
		"--agents:3: mcpServers is kept but not in force yet: a server that is described here is not started, one that is named adds its tools",
		`FATAL --agents:4: agent "bad" has no description; add a line description: saying when to use it`,
		`FATAL --agents:5: agent "worse" must be an object, not "3"`, `FATAL --agents:6: the name "a:b" holds ":", which is reserved for plugins; choose another`,
		"FATAL --agents:8: tools must be a list or words separated by commas, not a map",
	}
	if diff := cmp.Diff(wantProblems, texts(ps)); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "[]", "3", `{"a": `, `{"a": {}} x`, `{"a": {"description": "d"}}{`, strings.Repeat(`{"a":`, 200000), "{'a': 1}"} {
		if _, _, err := ParseFlag(text); err == nil || !strings.Contains(err.Error(), "invalid --agents configuration") {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestLoadFlagFromAFile(t *testing.T) {
	dir := tree(t, map[string]string{"agents.json": `{"a": {"description": "d"}}`})
	s := load(t, Options{Cwd: dir, FlagJSON: "agents.json", NoBuiltins: true})
	if len(s.Active) != 1 || s.Active[0].Source != Flag || s.Active[0].Path != filepath.Join(dir, "agents.json") {
		t.Errorf("%+v", s.Active)
	}
	for _, bad := range []string{"none.json", "{", "not json"} {
		if _, err := Load(Options{Cwd: dir, FlagJSON: bad}); err == nil || !strings.Contains(err.Error(), "--agents") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func builtinNames() []string {
	return []string{"Bash", "Explore", "Plan", "claude-code-guide", "general-purpose", "statusline-setup", "verification"}
}

func TestBuiltins(t *testing.T) {
	ds, ps := Builtins()
	if len(ps) > 0 {
		t.Errorf("problems: %v", texts(ps))
	}
	byName := map[string]Definition{}
	for _, d := range ds {
		byName[d.Name] = d
		if d.Body == "" || d.Source != BuiltIn || d.Line == 0 {
			t.Errorf("%s: %+v", d.Name, d)
		}
	}
	if d := byName["general-purpose"]; d.Tools != nil || d.OneShot {
		t.Errorf("general-purpose: %+v", d)
	}
	if d := byName["Explore"]; !d.OneShot || !d.OmitClaudeMD || len(d.Tools) != 4 {
		t.Errorf("Explore: %+v", d)
	}
	if p := (Definition{}).Prompt(); p != DefaultPrompt() || p == "" {
		t.Errorf("the prompt of a definition without a body is %q", p)
	}
	if p := (Definition{Body: "x"}).Prompt(); p != "x" {
		t.Errorf("Prompt = %q", p)
	}
}

func TestSourceString(t *testing.T) {
	for s, want := range map[Source]string{BuiltIn: "built-in", Plugin: "plugin", User: "user", Project: "project", Local: "local", Flag: "flag", Managed: "managed", 9: "source(9)"} {
		if got := s.String(); got != want {
			t.Errorf("%d is %q, want %q", int(s), got, want)
		}
	}
}

package defs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// texts are the problems as people see them.
func texts(ps []Problem) []string {
	out := []string{}
	for _, p := range ps {
		s := p.String()
		if p.Fatal {
			s = "FATAL " + s
		}
		out = append(out, s)
	}
	return out
}

// agent is a minimal file with more frontmatter.
func agent(lines ...string) string {
	return "---\nname: a\ndescription: d\n" + strings.Join(append(lines, ""), "\n") + "---\nbody\n"
}

func TestParseEveryField(t *testing.T) {
	src := `---
name: reviewer
description: >-
  Reviews code.
  Use it often.
tools: Read, Bash(git diff:*), Agent(a, b)
disallowedTools:
  - Write
  - Edit, NotebookEdit
model: Opus
permissionMode: plan
maxTurns: 20
background: yes
color: Blue
effort: xhigh
memory: project
isolation: worktree
initialPrompt: "Start: now"
skills: [one, two]
omitClaudeMd: true
hooks:
  Stop: [{type: command, timeout: 5, on: true, x: null}]
mcpServers:
  - github
  - own: {command: srv, args: [a]}
requiredMcpServers: github
forkContext: true
criticalSystemReminder: Read only.
version: 1.0
---

You review.

Carefully.
`
	got, ps, err := Parse("r.md", []byte(src), Project)
	if err != nil {
		t.Fatal(err)
	}
	want := Definition{
		Name: "reviewer", Description: "Reviews code. Use it often.", Tools: []string{"Read", "Bash(git diff:*)", "Agent(a, b)"},
		DisallowedTools: []string{"Write", "Edit", "NotebookEdit"}, Model: "opus", PermissionMode: "plan", MaxTurns: 20, Background: true,
		Color: "blue", Effort: "xhigh", Memory: "project", Isolation: "worktree", InitialPrompt: "Start: now", Skills: []string{"one", "two"},
		OmitClaudeMD: true, Body: "You review.\n\nCarefully.", Source: Project, Path: "r.md", Line: 32,
		Hooks:              json.RawMessage(`{"Stop":[{"type":"command","timeout":5,"on":true,"x":null}]}`),
		MCPServers:         []MCPServer{{Name: "github"}, {"own", json.RawMessage(`{"command":"srv","args":["a"]}`)}},
		RequiredMCPServers: []string{"github"}, ForkContext: true, CriticalReminder: "Read only.",
		Extra: map[string]json.RawMessage{"version": json.RawMessage("1.0")},
		Lines: []FieldLine{
			{"name", 2},
			{"description", 3},
			{"tools", 6},
			{"disallowedTools", 7},
			{"model", 10},
			{"permissionMode", 11},
			{"maxTurns", 12},
			{"background", 13},
			{"color", 14},
			{"effort", 15},
			{"memory", 16},
			{"isolation", 17},
			{"initialPrompt", 18},
			{"skills", 19},
			{"omitClaudeMd", 20},
			{"hooks", 21},
			{"mcpServers", 23},
			{"requiredMcpServers", 26},
			{"forkContext", 27},
			{"criticalSystemReminder", 28},
			{"version", 29},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var problems []string
	for _, l := range want.Lines {
		if info, known := fieldInfo(l.Field); known && !info.InEffect {
			problems = append(problems, fmt.Sprintf("r.md:%d: %s is kept but not in force yet: %s", l.Line, l.Field, info.Note))
		}
	}
	problems = append(problems, `r.md:29: unknown field "version" is ignored`)
	if diff := cmp.Diff(problems, texts(ps)); diff != "" {
		t.Error(diff)
	}
	for _, p := range ps {
		if p.Agent != "reviewer" {
			t.Errorf("%v names agent %q", p, p.Agent)
		}
	}
}

func TestParseShowsEveryRepair(t *testing.T) {
	for name, x := range map[string]struct {
		front, description string
		tools              []string
		problems           []string
	}{
		"colon in a plain value": {
			"name: a\ndescription: Use it: always\ntools: Read", "Use it: always",
			[]string{"Read"},
			[]string{`f.md:3: quotes were missing, read as: description: "Use it: always"`},
		},
		"leading star": {
			"name: a\ndescription: **Bold** text", "**Bold** text", nil,
			[]string{`f.md:3: quotes were missing, read as: description: "**Bold** text"`},
		},
		"tools star": {
			"name: a\ndescription: d\ntools: *", "d", nil,
			[]string{`f.md:4: quotes were missing, read as: tools: ["*"]`},
		},
		"at sign": {
			"name: a\ndescription: @me", "@me", nil, []string{`f.md:3: quotes were missing, read as: description: "@me"`},
		},
		"quote inside quotes": {
			`name: a` + "\n" + `description: "He said "hi"\nthere"`, "He said \"hi\"\nthere", nil,
			[]string{`f.md:3: quotes were missing, read as: description: "He said \"hi\"\nthere"`},
		},
		"unclosed quote": {
			"name: a\ndescription: \"Use it\ntools: Read", "Use it",
			[]string{"Read"},
			[]string{`f.md:3: quotes were missing, read as: description: "Use it"`},
		},
		"indented continuation": {
			"name: a\ndescription: Use it: always\n  and often\nmodel: opus", "Use it: always and often", nil,
			[]string{`f.md:3: quotes were missing, read as: description: "Use it: always and often"`},
		},
		"dialogue at column 0": {
			"name: a\ndescription: Use it. Example:\n<example>\nContext: x\nuser: \"hi\"\nassistant: \"ho\"\n</example>\ncolor: red\ntools: Read",
			"Use it. Example:\n<example>\nContext: x\nuser: \"hi\"\nassistant: \"ho\"\n</example>",
			[]string{"Read"},
			[]string{`f.md:3: not valid YAML, recovered line by line, read as: description: "Use it. Example:\n<example>\nContext: x\nuser: \"hi\"\nassistant: \"ho\"\n</example>"`},
		},
		"dialogue that is valid YAML": {
			"name: a\ndescription: Use it\nuser: one\nassistant: two\nuser: three\ntools: Read", "Use it\nuser: one\nassistant: two\nuser: three",
			[]string{"Read"},
			[]string{`f.md:3: not valid YAML, recovered line by line, read as: description: "Use it\nuser: one\nassistant: two\nuser: three"`},
		},
		"broken list": {
			"name: a\ndescription: d\ntools:\n  - Read\n  - *\n", "d", nil,
			[]string{`f.md:4: quotes were missing, read as: tools: ["Read", "*"]`},
		},
		"broken flow list": {
			"name: a\ndescription: d\ntools: [Read, Bash(git: *]", "d",
			[]string{"Read", "Bash(git: *"},
			[]string{`f.md:4: quotes were missing, read as: tools: ["Read", "Bash(git: *"]`},
		},
		"block scalar next to a broken line": {
			"name: a\ndescription: |\n  One: two\n  three\ncolor: red: blue", "One: two\nthree", nil,
			[]string{`f.md:6: quotes were missing, read as: color: "red: blue"`, `f.md:6: color "red: blue" is not known and is ignored; it may be red, blue, green, yellow, purple, orange, pink, cyan`},
		},
		"duplicate key": {
			"name: a\ndescription: d\nname: b", "d", nil, []string{"f.md:4: name is given twice; the one in line 2 is used"},
		},
		"comment cuts the description": {
			"name: a\ndescription: Fix issue #12 #now", "Fix issue", nil,
			[]string{`f.md:3: everything from "#12 #now" on is a YAML comment and not part of description; quote the value to keep it`},
		},
		"spelling": {
			"Name: a\nwhen-to-use: d\ndisallowed-tools: Write\nallowed-tools: Read", "d", nil,
			[]string{"f.md:2: Name is read as name; write it that way", "f.md:4: disallowed-tools is read as disallowedTools; write it that way", `f.md:5: unknown field "allowed-tools" is ignored; the list of an agent is called tools`},
		},
		"tab": {
			"name: a\ndescription: d\n\ttools: Read", "d tools: Read", nil,
			[]string{`f.md:3: quotes were missing, read as: description: "d tools: Read"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, ps, err := Parse("f.md", []byte("---\n"+x.front+"\n---\nbody"), User)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(x.description, d.Description); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(x.tools, d.Tools); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(x.problems, texts(ps)); diff != "" {
				t.Error(diff)
			}
			if d.Name != "a" || d.Body != "body" {
				t.Errorf("name %q, body %q", d.Name, d.Body)
			}
		})
	}
}

func TestParseFailsClosedOnLimits(t *testing.T) {
	for line, want := range map[string]string{
		"tools: {a: b}":             "FATAL f.md:4: tools must be a list or words separated by commas, not a map",
		"tools: [Read, {a: b}]":     "FATAL f.md:4: tools holds a map where a name is expected; quote the entry",
		"tools:\n- Read\n- [Write]": "FATAL f.md:6: tools holds a list where a name is expected; quote the entry",
		"disallowedTools: {a: b}":   "FATAL f.md:4: disallowedTools must be a list or words separated by commas, not a map",
		"isolation: container":      `FATAL f.md:4: isolation "container" is not known; use worktree or remote, or remove the line`,
		"isolation: [worktree]":     "FATAL f.md:4: isolation must be worktree or remote, not a list; write one of them, or remove the line",
	} {
		_, ps, err := Parse("f.md", []byte(agent(line)), Project)
		if err == nil {
			t.Errorf("%s: loaded, with %v", line, ps)
			continue
		}
		if last := texts(ps)[len(ps)-1]; last != want {
			t.Errorf("%s: %s, want %s", line, last, want)
		}
		var p Problem
		if !errors.As(err, &p) || !p.Fatal || p.Agent != "a" {
			t.Errorf("%s: the error is %#v", line, err)
		}
	}
	// Softer values fall back to less power, with a warning.
	for line, ok := range map[string]func(Definition) bool{
		"maxTurns: -1":           func(d Definition) bool { return d.MaxTurns == 0 },
		"maxTurns: many":         func(d Definition) bool { return d.MaxTurns == 0 },
		"maxTurns: 1.5":          func(d Definition) bool { return d.MaxTurns == 0 },
		"maxTurns: {a: b}":       func(d Definition) bool { return d.MaxTurns == 0 },
		"permissionMode: bypass": func(d Definition) bool { return d.PermissionMode == "default" },
		"permissionMode: [plan]": func(d Definition) bool { return d.PermissionMode == "default" },
		"background: perhaps":    func(d Definition) bool { return !d.Background },
		"color: gold":            func(d Definition) bool { return d.Color == "" },
		"effort: huge":           func(d Definition) bool { return d.Effort == "" },
		"memory: everywhere":     func(d Definition) bool { return d.Memory == "" },
		"model: Claude Sonnet 4": func(d Definition) bool { return d.Model == "" },
		"tools:":                 func(d Definition) bool { return d.Tools == nil },
	} {
		d, ps, err := Parse("f.md", []byte(agent(line)), Project)
		if err != nil || len(ps) == 0 || !ok(d) || ps[0].Line != 4 {
			t.Errorf("%s: %+v, %v, %v", line, d, texts(ps), err)
		}
	}
}

func TestParseTools(t *testing.T) {
	for line, want := range map[string][]string{
		"": nil, `tools: "*"`: nil, `tools: ["*"]`: nil, "tools: []": {}, "tools: Read": {"Read"}, "tools: Read,Write , ,Edit": {"Read", "Write", "Edit"},
		`tools: ["Read", "Agent(a, b)"]`: {"Read", "Agent(a, b)"}, "tools: Agent(a, b), Bash(git diff:*), mcp__x__*": {"Agent(a, b)", "Bash(git diff:*)", "mcp__x__*"},
		"tools:\n- Read\n- Bash(a,b)": {"Read", "Bash(a,b)"}, "tools: Bash(a, b": {"Bash(a", "b"}, "x: &t [Read]\ntools: *t": {"Read"}, "tools: |\n  Read\n  Write": {"Read", "Write"},
	} {
		d, ps, err := Parse("f.md", []byte(agent(strings.Split(line, "\n")...)), User)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if diff := cmp.Diff(want, d.Tools); diff != "" {
			t.Errorf("%q (%v): %s", line, texts(ps), diff)
		}
	}
}

func TestParseNames(t *testing.T) {
	long := strings.Repeat("ä", MaxNameLength)
	for name, why := range map[string]string{
		"good": "", "Good Name": "", "123": "", "true": "", long: "", "with.dot": "",
		"a:b": `holds ":"`, "a/b": "path separator", `a\b`: "path separator", "-a": `starts with "-"`, "..": "a directory's name", long + "x": "more than 256", `"a\tb"`: "control character", `""`: "no name",
	} {
		d, _, err := Parse("f.md", []byte("---\nname: "+name+"\ndescription: d\n---\n"), User)
		switch {
		case why == "" && (err != nil || d.Name != name):
			t.Errorf("%s: %q, %v", name, d.Name, err)
		case why != "" && (err == nil || !strings.Contains(err.Error(), why) || !strings.HasPrefix(err.Error(), "f.md:2: ")):
			t.Errorf("%s: %v, want %q in line 2", name, err, why)
		}
	}
}

func TestParseEncodings(t *testing.T) {
	plain := agent("tools: Read")
	utf16 := func(lo, hi int) string {
		b := make([]byte, 2*len(plain))
		for i := range len(plain) {
			b[2*i+lo], b[2*i+hi] = plain[i], 0
		}
		return string(b)
	}
	want, _, err := Parse("f.md", []byte(plain), User)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		src  string
		warn string
	}{
		"CRLF":           {strings.ReplaceAll(plain, "\n", "\r\n"), ""},
		"CR":             {strings.ReplaceAll(plain, "\n", "\r"), ""},
		"BOM":            {"\ufeff" + plain, ""},
		"BOM and CRLF":   {"\ufeff" + strings.ReplaceAll(plain, "\n", "\r\n"), ""},
		"UTF-16LE":       {"\xff\xfe" + utf16(0, 1), ""},
		"UTF-16BE":       {"\xfe\xff" + utf16(1, 0), ""},
		"blank line":     {"\n" + plain, "f.md:2: something blank stands before the opening ---; others skip such a file, remove it"},
		"leading space":  {" " + plain, "f.md:1: something blank stands before the opening ---; others skip such a file, remove it"},
		"fence blanks":   {strings.ReplaceAll(plain, "---\n", "---  \n"), ""},
		"no final break": {strings.TrimSpace(plain), ""},
	} {
		got, ps, err := Parse("f.md", []byte(x.src), User)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Definition{}, "Line", "Lines")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if x.warn == "" && len(ps) > 0 || x.warn != "" && (len(ps) != 1 || ps[0].String() != x.warn) {
			t.Errorf("%s: %v, want %q", name, texts(ps), x.warn)
		}
	}
	d, ps, err := Parse("f.md", []byte("---\nname: a\ndescription: caf\xe9 ü \x93\x85\n---\n\xff"), User)
	if err != nil || d.Description != "café ü “…" || d.Body != "ÿ" || len(ps) != 1 || ps[0].Line != 3 {
		t.Errorf("Windows-1252: %+v, %v, %v", d, texts(ps), err)
	}
}

func TestParseCountsLinesAsEditorsDo(t *testing.T) {
	_, ps, err := Parse("f.md", []byte("---\nname: a\ndescription: one\u2028two\u0085three\nodd: 1\n---\n"), User)
	if diff := cmp.Diff([]string{`f.md:4: unknown field "odd" is ignored`}, texts(ps)); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestParseMissingClosingFence(t *testing.T) {
	d, ps, err := Parse("f.md", []byte("---\nname: a\ndescription: d\ntools: Read\n\n# Title\n\nBody: text\n"), User)
	if err != nil || d.Body != "# Title\n\nBody: text" || d.Line != 6 || len(d.Tools) != 1 {
		t.Errorf("%+v, %v, %v", d, texts(ps), err)
	}
	if diff := cmp.Diff([]string{"f.md:1: the closing --- is missing; the frontmatter is taken to end before line 5"}, texts(ps)); diff != "" {
		t.Error(diff)
	}
	d, _, err = Parse("f.md", []byte("---\nname: a\n\ndescription: d\n\ntext"), User)
	if err != nil || d.Body != "text" || d.Description != "d" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestParseWhatIsNotAnAgent(t *testing.T) {
	for src, notAgent := range map[string]bool{
		"": true, "# Title\n": true, "text\n---\nname: a\n---\n": true,
		"---\n---\n": false, "---\ntitle: x\n---\n": false, "---\nname: a\n---\nbody": false, "---\ndescription: d\n---\n": false, "---\n- a\n- b\n---\n": false, "---\njust text\n---\n": false, "---": false,
	} {
		d, ps, err := Parse("f.md", []byte(src), User)
		if err == nil || errors.Is(err, ErrNotAgent) != notAgent || len(ps) == 0 {
			t.Errorf("%q: %+v, %v, %v", src, d, texts(ps), err)
		}
	}
	if _, _, err := Parse("f.md", make([]byte, MaxFileSize+1), User); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("too large: %v", err)
	}
	d, ps, err := Parse("plugin/agents/helper.md", []byte("---\ndescription: d\n---\n"), Plugin)
	if err != nil || d.Name != "helper" || len(ps) != 1 {
		t.Errorf("a plugin's agent without a name: %+v, %v, %v", d, texts(ps), err)
	}
}

func TestOneShotIsForBuiltinsOnly(t *testing.T) {
	d, ps, err := Parse("f.md", []byte(agent("oneShot: true")), Project)
	if err != nil || d.OneShot || len(ps) != 1 {
		t.Errorf("%+v, %v, %v", d, texts(ps), err)
	}
}

func TestExtraIsBounded(t *testing.T) {
	bomb := []string{"a: &a [x, x, x, x, x, x, x, x, x, x]"}
	for c := 'b'; c < 'k'; c++ {
		bomb = append(bomb, fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1))
	}
	d, ps, err := Parse("f.md", []byte(agent(bomb...)), User)
	if err != nil || d.Extra["j"] != nil || !strings.Contains(strings.Join(texts(ps), "\n"), "too large once its aliases are written out") {
		t.Errorf("%v, %d fields, %d problems", err, len(d.Extra), len(ps))
	}
	for _, raw := range d.Extra {
		if !json.Valid(raw) {
			t.Errorf("not JSON: %s", raw)
		}
	}
}

// hostile are files that make naive readers slow.
func hostile() map[string]string {
	const mb = 1 << 20
	rep := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	return map[string]string{
		"flow": "---\nx: " + rep("[", mb) + "\n---\n", "flow64K": "---\nx: " + rep("[", 60000) + "\n---\n", "keys": "---\n" + rep("a:\n", mb) + "---\n", "keys64K": "---\n" + rep("a:\n", 60000) + "---\n",
		"names": "---\n" + rep("name: x\n", mb) + "---\n", "bad64K": "---\n" + rep("description: *\n", 60000) + "---\n", "dashes64K": "---\nx:\n" + rep("- ", 60000) + "\n---\n", "questions64K": "---\n" + rep("? ", 60000) + "\n---\n",
		"indent64K": "---\n" + indents(340) + "---\n", "fences": rep("---\n", mb), "spaces": "---\n" + rep(" ", mb) + "\n---\n", "quotes": "---\nname: " + rep("\"", mb) + "\n---\n", "long": "---\nname: a\ndescription: " + rep("x: ", mb) + "\n---\n",
		"anchors64K": "---\nx: [" + rep("&a *a, ", 60000) + "]\n---\n", "unclosed": "---\n" + rep("a: b\n\n", mb), "tools": "---\nname: a\ndescription: d\ntools: " + rep("((,", 60000) + "\n---\n", "distinct64K": distinct(6000), "body": agent() + rep("x\n", mb), "invalid": agent() + rep("\xff", mb),
		"flowmap64K": "---\nx: " + rep("{a: ", 60000) + "\n---\n", "merge64K": "---\nx: &x {a: b}\n" + rep("<<: *x\n", 60000) + "---\n",
	}
}

func indents(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func distinct(n int) string {
	var b strings.Builder
	b.WriteString("---\n")
	for i := range n {
		fmt.Fprintf(&b, "k%d: *\n", i)
	}
	return b.String() + "---\n"
}

// BenchmarkParseHostile reads files made to be slow, of up to 1 MB; the limit
// is 100 ms each.
func BenchmarkParseHostile(b *testing.B) {
	for name, src := range hostile() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				Parse("f.md", []byte(src), User)
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/0.1, "of-limit")
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(agent("tools: [Read]", "hooks: {a: b}"))
	f.Add("---\nname: a\ndescription: Use: it\nuser: x\n<e>\n---\n")
	f.Add("\ufeff---\r\nname: a\r\ndescription: |\r\n  x\r\n---\r\nbody")
	f.Add("---\nname: a\ndescription: \"x\ntools: *\n")
	f.Add("\xff\xfe-\x00-\x00-\x00")
	for _, src := range hostile() {
		f.Add(src[:min(len(src), 300)])
	}
	f.Fuzz(func(t *testing.T, src string) {
		d, ps, err := Parse("f.md", []byte(src), Project)
		lines := strings.Count(strings.ReplaceAll(src, "\r\n", "\n"), "\n") + strings.Count(src, "\r") + 1
		for _, p := range ps {
			if p.Text == "" || p.Path != "f.md" || p.Line < 0 || p.Line > lines+1 && !strings.HasPrefix(src, "\xff\xfe") && !strings.HasPrefix(src, "\xfe\xff") {
				t.Fatalf("problem %+v in a file of %d lines", p, lines)
			}
		}
		if err != nil {
			if len(ps) == 0 || !ps[len(ps)-1].Fatal {
				t.Fatalf("failed with %v, but the problems are %v", err, texts(ps))
			}
			return
		}
		if nameProblem(d.Name) != "" || d.Name == "" || d.Description == "" {
			t.Fatalf("loaded with name %q and description %q", d.Name, d.Description)
		}
		if d.MaxTurns < 0 {
			t.Fatalf("maxTurns %d", d.MaxTurns)
		}
		for k, raw := range d.Extra {
			if !json.Valid(raw) {
				t.Fatalf("%s is not JSON: %s", k, raw)
			}
		}
		again, _, err := Parse("f.md", []byte(src), Project)
		if diff := cmp.Diff(d, again); err != nil || diff != "" {
			t.Fatalf("a second reading differs: %v %s", err, diff)
		}
	})
}

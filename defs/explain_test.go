package defs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExplainShowsEveryField(t *testing.T) {
	d, _, err := Parse("f.md", []byte(agent("tools: []", "maxTurns: 3", "mcpServers: {own: {url: u}}", "odd: [1]")), User)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]FieldValue{}
	for _, v := range d.Explain() {
		got[v.Name] = v
	}
	if len(got) != len(Fields())+1 {
		t.Errorf("%d rows for %d fields", len(got), len(Fields()))
	}
	for name, want := range map[string]string{
		"name": "a f.md:2 true", "tools": "[] f.md:4 true", "maxTurns": "3 f.md:5 true", "model": " f.md:0 true", "body": "body f.md:9 true",
		"mcpServers": `own {"url":"u"} f.md:6 false`, "odd": "[1] f.md:7 false", "hooks": " f.md:0 true",
	} {
		v := got[name]
		if s := fmt.Sprintf("%s %s:%d %v", v.Value, v.Path, v.Line, v.InEffect); s != want || v.Note == "" {
			t.Errorf("%s is %q, want %q; %s", name, s, want, v.Note)
		}
	}
}

// TestEveryFieldIsInTheTable ties the table to the fields that are parsed.
func TestEveryFieldIsInTheTable(t *testing.T) {
	var seen []string
	for _, f := range Fields() {
		if slices.Contains(seen, f.Name) {
			t.Errorf("%s is there twice", f.Name)
		}
		seen = append(seen, f.Name)
		if f.Name != "body" && canonicalField(f.Name) != f.Name {
			t.Errorf("%s is in the table, but is not a field", f.Name)
		}
		if f.Note == "" || InEffect(f.Name) != f.InEffect {
			t.Errorf("%+v", f)
		}
	}
	if InEffect("nothing") {
		t.Error("an unknown field is in force")
	}
}

func TestParseServers(t *testing.T) {
	for text, want := range map[string]string{
		"mcpServers: github": "github", "mcpServers: a, b": "a, b", "mcpServers: [a, {b: {command: c}}]": `a, b {"command":"c"}`,
		"mcpServers: {a: , b: {url: u}}": `a, b {"url":"u"}`, "mcpServers: {a: 3}": "", "mcpServers: [[a]]": "", "mcpServers: [{a: {}}]": "",
	} {
		d, ps, err := Parse("f.md", []byte(agent(text)), User)
		if got := serversText(d.MCPServers); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
		if want == "" && (len(ps) == 0 || ps[0].Line != 4) {
			t.Errorf("%s is ignored in silence: %v", text, texts(ps))
		}
	}
}

func TestIsolationRemoteSaysWhatIsMissing(t *testing.T) {
	_, ps, err := Parse("f.md", []byte(agent("isolation: remote")), User)
	want := []string{"f.md:4: isolation remote needs a remote node and there is none; the agent is listed, and calls for it are refused"}
	if diff := cmp.Diff(want, texts(ps)); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestParseVerdict(t *testing.T) {
	for text, want := range map[string]Verdict{
		"Report.\n\nVERDICT: PASS": Pass, "VERDICT: FAIL\n\n": Fail, "x\r\n**VERDICT: PARTIAL**\r\n": Partial, "`VERDICT: PASS`.": Pass,
		"": NoVerdict, "VERDICT: PASS\nbut wait": NoVerdict, "VERDICT: MAYBE": NoVerdict, "VERDICT: PASS or FAIL": NoVerdict,
		"I say VERDICT: PASS": NoVerdict, "verdict: pass": NoVerdict, "VERDICT:": NoVerdict, "VERDICT: PASSED": NoVerdict,
	} {
		if got := ParseVerdict(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestShownColorIsAlwaysTheSame(t *testing.T) {
	if c := (Definition{Name: "a", Color: "pink"}).ShownColor(); c != "pink" {
		t.Errorf("a color that was given is shown as %s", c)
	}
	seen := map[string]bool{}
	for i := range 100 {
		d := Definition{Name: fmt.Sprint("agent-", i)}
		c := d.ShownColor()
		seen[c] = true
		if !slices.Contains(Colors(), c) || c != d.ShownColor() {
			t.Errorf("%s is %s", d.Name, c)
		}
	}
	if len(seen) != len(Colors()) {
		t.Errorf("only %v are used", seen)
	}
	// Colors that people know their agents by must not move with a release.
	if got := (Definition{Name: "Explore"}).ShownColor() + " " + (Definition{Name: "general-purpose"}).ShownColor(); got != "purple red" {
		t.Errorf("the colors are %s", got)
	}
}

// TestResolveToolsStepByStep adds one step of the resolution after the other.
func TestResolveToolsStepByStep(t *testing.T) {
	available := strings.Fields("Read Write Edit Bash AskUserQuestion Agent ListAgents mcp__session__x")
	for _, x := range []struct {
		step string
		d    Definition
		o    ToolOptions
		want string
	}{
		{"1 absent is all", Definition{}, ToolOptions{}, "Read Write Edit Bash Agent ListAgents mcp__session__x"},
		{"2 empty is none", Definition{Tools: []string{}}, ToolOptions{}, ""},
		{"3 star is all", Definition{Tools: []string{"*"}}, ToolOptions{}, "Read Write Edit Bash Agent ListAgents mcp__session__x"},
		{"4 a list is the list", Definition{Tools: []string{"Bash", "Read"}}, ToolOptions{}, "Read Bash"},
		{"5 denied ones go", Definition{Tools: []string{"Bash", "Read"}, DisallowedTools: []string{"Bash"}}, ToolOptions{}, "Read"},
		{"6 memory brings its tools", Definition{Tools: []string{"Bash"}, Memory: "user"}, ToolOptions{}, "Read Write Edit Bash"},
		{"7 the agent's MCP tools are added", Definition{Tools: []string{"Read"}}, ToolOptions{MCP: []string{"mcp__own__a"}}, "Read mcp__own__a"},
		{"7 to an empty list too", Definition{Tools: []string{}}, ToolOptions{MCP: []string{"mcp__own__a"}}, "mcp__own__a"},
		{"7 and to one that resolves to nothing", Definition{Tools: []string{"nope"}}, ToolOptions{MCP: []string{"mcp__own__a"}}, "mcp__own__a"},
		{"7 but not if denied", Definition{Tools: []string{"Read"}, DisallowedTools: []string{"mcp__own"}}, ToolOptions{MCP: []string{"mcp__own__a"}}, "Read"},
		{"8 background loses what needs a terminal", Definition{}, ToolOptions{Background: true}, "Read Write Edit Bash Agent mcp__session__x"},
		{"8 even if listed", Definition{Tools: []string{"Read", "ListAgents"}}, ToolOptions{Background: true}, "Read"},
		{"8 but what asks the user stays if listed", Definition{Tools: []string{"Read", "AskUserQuestion"}}, ToolOptions{Background: true}, "Read AskUserQuestion"},
	} {
		got, err := ResolveTools(x.d, available, x.o)
		if diff := cmp.Diff(x.want, strings.Join(got, " ")); err != nil || diff != "" {
			t.Errorf("%s: %v %s", x.step, err, diff)
		}
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden parses one file for each cause of a repair and compares the fields and the
// warnings with those on record.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/repair/*.md")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		d, ps, err := Parse(filepath.Base(path), src, User)
		for _, l := range texts(ps) {
			b.WriteString(l + "\n")
		}
		if err == nil {
			b.WriteString("\n")
			for _, v := range d.Explain() {
				if v.Line > 0 {
					fmt.Fprintf(&b, "%d %s = %q\n", v.Line, v.Name, v.Value)
				}
			}
		}
		golden := strings.TrimSuffix(path, ".md") + ".golden"
		if *update {
			write(t, golden, b.String())
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

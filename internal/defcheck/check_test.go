package defcheck

import (
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/defs"
)

var checker = New(func() []string {
	return []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep", "Agent", "TaskStop", "TaskOutput", "SendMessage"}
}, func() []string { return []string{"git"} })

// read returns the problems of a definition with some fields, and its notes.
func read(t *testing.T, fields string) (problems []defs.Problem, notes []defs.Problem) {
	t.Helper()
	o := defs.Options{Check: checker.Problems}
	d, problems, err := o.Parse("a.md", []byte("---\nname: a\ndescription: d\n"+fields+"\n---\n"), defs.Project)
	if err != nil {
		t.Fatal(err)
	}
	return problems, checker.Notes(d)
}

func wantTexts(t *testing.T, fields string, got []defs.Problem, want ...string) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(p defs.Problem, text string) bool { return strings.Contains(p.String(), text) }) {
		t.Errorf("%s: got %v, want %q", fields, got, want)
	}
}

func TestNearNamesAreProblems(t *testing.T) {
	for fields, want := range map[string][]string{
		"tools: Raed, Grep":               {`a.md:4: there is no tool "Raed", and the agent does not get it; did you mean Read?`},
		"tools: Reed, read, Bash(ls *":    {`"Reed"`, `"read"`, `"Bash(ls *" in tools has no closing parenthesis and allows no use of Bash`},
		"tools: Read, SendMesages, Tsak":  {"did you mean SendMessage?", "did you mean Task?"},
		"tools: [Read, bash(git log)]":    {`"bash", and the agent does not get it; did you mean Bash?`},
		"tools: Read, Task, BashOutput":   nil,
		"tools: Read, Agent(a, b), Bash":  nil,
		"tools: Read, Git, Test, Bashful": nil,
		"model: sonet":                    {`a.md:4: model "sonet" is no alias, and is taken for the id of a model; did you mean sonnet?`},
		"model: Sonnet":                   nil,
		"model: claude-sonnet-4-5":        nil,
		"model: inherit":                  nil,
	} {
		problems, _ := read(t, fields)
		wantTexts(t, fields, problems, want...)
	}
}

func TestAGuardThatTakesNothingAwayIsAProblem(t *testing.T) {
	fields := "disallowedTools: bash, Wriite, Everything, Bash(rm *"
	problems, _ := read(t, fields)
	wantTexts(t, fields, problems, "did you mean Bash?", "did you mean Write?", `"Everything", so it takes nothing away`, "takes all of Bash away")
	fields = "disallowedTools: Bash, WebSearch, TodoWrite, MultiEdit, mcp__git__push, Bash(rm *)"
	problems, _ = read(t, fields)
	wantTexts(t, fields, problems)
}

func TestAListWithoutAToolIsUnusable(t *testing.T) {
	for _, fields := range []string{"tools: WebSearch, mcp__other", "tools: all tools"} {
		problems, _ := read(t, fields)
		wantTexts(t, fields, problems, "a.md:4: the agent cannot start: none of its tools exists here")
		if !problems[0].Unusable || problems[0].Fatal {
			t.Errorf("%s: %+v, want it unusable and loaded", fields, problems[0])
		}
	}
	for _, fields := range []string{"tools: []", "tools: '*'", "color: red", "tools: Task", "tools: WebSearch, mcp__git__log"} {
		problems, _ := read(t, fields)
		wantTexts(t, fields, problems)
	}
}

func TestToolsOfOtherProgramsAreANote(t *testing.T) {
	fields := "tools: Read, WebSearch, TodoWrite, MultiEdit, mcp__git__push, search/codebase, githubRepo, Raed"
	problems, notes := read(t, fields)
	wantTexts(t, fields, problems, `"Raed"`)
	wantTexts(t, fields, notes, "a.md:4: these of its tools do not exist here and are left out: WebSearch, TodoWrite, MultiEdit, search/codebase, githubRepo")
	_, notes = read(t, "tools: Read, mcp__git__push, mcp__own__a, mcp__other, mcp__more__*, mcp__*\nmcpServers: [git, named, {own: {command: x}}]")
	wantTexts(t, "servers", notes, "a.md:4: it lists MCP servers that are not configured, whose tools are left out: more, named, other; configure them with: swarm mcp add")
	_, notes = read(t, "tools: Read, Task")
	wantTexts(t, "all exist", notes)
}

func TestMistakesInHooksAreProblems(t *testing.T) {
	fields := "hooks: {Stpo: [{hooks: [{type: command, command: ls}]}]}"
	problems, _ := read(t, fields)
	wantTexts(t, fields, problems, "a.md:4: its hooks of these events are not run: Stpo")
}

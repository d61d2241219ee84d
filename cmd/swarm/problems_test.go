package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// everyAgent is a script in which a lead starts an agent of each kind, and each agent makes
// the calls TRY; so do the lead and a teammate once more when they are asked again.
const everyAgent = `rules:
  - when: {agent: lead, text: once more}
    say: {calls: [TRY, {tool: SendMessage, input: {to: mate, message: try again}}]}
  - when: {agent: lead, step: 0}
    say:
      calls:
        - {tool: Agent, input: {description: f, prompt: be a fork, subagent_type: fork}}
        - {tool: Agent, input: {description: c, prompt: try, subagent_type: mighty, mode: bypassPermissions}}
        - {tool: Agent, input: {description: b, prompt: try, subagent_type: mighty, run_in_background: true}}
        - {tool: Agent, input: {description: m, prompt: try, subagent_type: mighty, name: mate}}
        - {tool: Agent, input: {description: n, prompt: go deeper, subagent_type: upper}}
  - when: {agent: lead, step: 1}
    say: {calls: [TRY]}
  - when: {agent: lead}
    say: {text: waiting}
  - when: {agent: upper, step: 0}
    say: {calls: [TRY, {tool: Agent, input: {description: n, prompt: try, subagent_type: mighty}}]}
  - when: {agent: mighty, step: 0}
    say: {calls: [TRY]}
  - when: {agent: mighty, mail: try again}
    say: {calls: [TRY]}
  - when: {if: '{{and (eq .Type "fork") (not (results "Bash"))}}', agent: "*"}
    say: {calls: [TRY]}
  - say: {text: done}
`

// everyAgentFiles are the files of a lab with that script.
func everyAgentFiles(try string) map[string]string {
	mighty := "---\nname: NAME\ndescription: d\npermissionMode: bypassPermissions\n---\nTry.\n"
	return map[string]string{
		"s.yaml":                   strings.ReplaceAll(everyAgent, "TRY", try),
		".claude/agents/mighty.md": strings.Replace(mighty, "NAME", "mighty", 1),
		".claude/agents/upper.md":  strings.Replace(mighty, "NAME", "upper", 1),
	}
}

// files returns the names in the directory of the lab that match a pattern.
func (l *lab) files(pattern string) []string {
	l.Helper()
	all, err := filepath.Glob(filepath.Join(l.dir, pattern))
	if err != nil {
		l.Fatal(err)
	}
	return all
}

// TestProblem7_RulesAndModesHoldInEveryAgent has agents of every kind, also after the
// session was opened again, make calls that settings deny, that flags deny, and that their mode does not
// allow although their definition and the call ask for another.
func TestProblem7_RulesAndModesHoldInEveryAgent(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"in-process", "process"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, everyAgentFiles(`
      {tool: Bash, input: {command: 'mkdir ran-{{.Agent}}-{{.Step}}'}}, {tool: Bash, input: {command: 'touch settings-{{.Agent}}'}},
      {tool: Bash, input: {command: 'mkdir ran-x; bash -c "touch settings-{{.Agent}}"'}}, {tool: Write, input: {file_path: 'secret/{{.Agent}}', content: x}},
      {tool: Bash, input: {command: 'chmod 777 flags-{{.Agent}}'}}, {tool: Bash, input: {command: 'cp s.yaml open-{{.Agent}}'}}, {tool: Write, input: {file_path: 'open-{{.Agent}}', content: x}}`))
			settings := `{"permissions": {"deny": ["Bash(touch:*)", "Edit(secret/**)"], "allow": ["Bash(mkdir ran-*)"]}}`
			if err := os.MkdirAll(l.dir+"/.home/.claude", 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(l.dir+"/.home/.claude/settings.json", []byte(settings), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"run", "--session-id", "one", "--model", "script:s.yaml", "--disallowedTools", "Bash(chmod:*)", "--teammate-mode", place, "go"},
				{"run", "--resume", "one", "--model", "script:s.yaml", "--teammate-mode", place, "once more"},
			} {
				if end := l.run(args...); end.code != 0 {
					t.Fatalf("%+v", end)
				}
			}
			if made := append(l.files("settings-*"), append(l.files("flags-*"), append(l.files("open-*"), l.files("secret/*")...)...)...); len(made) > 0 {
				t.Errorf("what is not allowed was done: %q", made)
			}
			// The same agents have made what is allowed: the lead and the mate twice.
			for pattern, n := range map[string]int{"ran-team-lead-*": 2, "ran-mate-*": 2, "ran-mighty-*": 3, "ran-upper-*": 1, "ran-fork-*": 1} {
				if made := l.files(pattern); len(made) != n {
					t.Errorf("of %s there are %q, want %d", pattern, made, n)
				}
			}
		})
	}
}

// TestProblem17_HooksRunAndBlockInEveryAgent has a hook block each command of agents of
// every kind, where all is allowed, and counts starts and stops.
func TestProblem17_HooksRunAndBlockInEveryAgent(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"in-process", "process"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, everyAgentFiles(`{tool: Bash, input: {command: 'touch blocked-{{.Agent}}'}}, {tool: Write, input: {file_path: 'made-{{.Agent}}-{{.Step}}', content: x}}`))
			log := l.dir + "/hooks.log"
			add := []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "cat >> " + log + "; echo >> " + log}}}}
			raw, err := json.Marshal(map[string]any{"hooks": map[string]any{
				"SubagentStart": add, "SubagentStop": add,
				"PreToolUse": []any{map[string]any{"matcher": "Bash", "hooks": []any{map[string]any{"type": "command", "command": "cat >> " + log + "; echo >> " + log + "; echo no >&2; exit 2"}}}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(l.dir+"/.home/.claude", 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(l.dir+"/.home/.claude/settings.json", raw, 0o600); err != nil {
				t.Fatal(err)
			}
			end := l.run("run", "--session-id", "one", "--model", "script:s.yaml", "--permission-mode", "bypassPermissions", "--teammate-mode", place, "go")
			if end.code != 0 {
				t.Fatalf("%+v", end)
			}
			if made := l.files("blocked-*"); len(made) > 0 {
				t.Errorf("what a hook blocks was done: %q", made)
			}
			fired, agents := map[string]int{}, map[string]bool{}
			for _, line := range l.lines(log) {
				if strings.TrimSpace(line) == "" {
					continue
				}
				var in struct {
					Event string `json:"hook_event_name"`
					Agent string `json:"agent_id"`
				}
				if err := json.Unmarshal([]byte(line), &in); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				fired[in.Event]++
				if in.Event == "PreToolUse" {
					agents[in.Agent] = true
				}
			}
			// The lead, a fork, a child, one in the background, a teammate, and two below
			// each other.
			if made := l.files("made-*"); len(agents) != 7 || len(made) < 5 || fired["SubagentStart"] != 6 || fired["SubagentStop"] != 6 {
				t.Errorf("fired %v for %v; made %q", fired, agents, made)
			}
		})
	}
}

// hastyScript is a lead that hands out work to agents that end early, make it up, or say
// nothing.
const hastyScript = `rules:
  - when: {agent: lead, step: 0}
    say:
      calls:
        - {tool: Agent, as: hasty, input: {description: d, prompt: write it, subagent_type: hasty}}
        - {tool: Agent, as: liar, input: {description: d, prompt: write it, subagent_type: liar}}
        - {tool: Agent, as: short, input: {description: d, prompt: write it, subagent_type: short}}
        - {tool: Agent, as: broken, input: {description: d, prompt: write it, subagent_type: broken}}
  - when: {agent: lead}
    say: {text: "HASTY {{result \"hasty\"}} LIAR {{result \"liar\"}} SHORT {{result \"short\"}} BROKEN {{result \"broken\"}}"}
  - when: {agent: hasty, text: hasty.txt is missing}
    say: {calls: [{tool: Write, input: {file_path: hasty.txt, content: x}}]}
  - when: {agent: short, step: 0}
    say: {text: Almost., calls: [{tool: Write, input: {file_path: half.txt, content: x}}]}
  - when: {agent: broken}
    say: {error: {status: 400, type: invalid_request_error, message: no}}
  - say: {text: "Done, the file is written."}
`

// TestProblem35_NoEndWithoutTheWorkLooksLikeSuccess has agents end without their work. A hook
// that holds them to the file that they owe makes one write it; the end of every other
// says what is missing, and how many tools it used.
func TestProblem35_NoEndWithoutTheWorkLooksLikeSuccess(t *testing.T) {
	t.Parallel()
	files := map[string]string{"s.yaml": hastyScript}
	for name, more := range map[string]string{"hasty": "", "liar": "", "short": "maxTurns: 1\n", "broken": ""} {
		files[".claude/agents/"+name+".md"] = "---\nname: " + name + "\ndescription: d\n" + more + "---\nWork.\n"
	}
	owes := `type=$(sed 's/.*"agent_type":"\([a-z]*\)".*/\1/'); test -f "$type.txt" || { echo "$type.txt is missing" >&2; exit 2; }`
	raw, err := json.Marshal(map[string]any{"hooks": map[string]any{"SubagentStop": []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": owes}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	files[".home/.claude/settings.json"] = string(raw)
	l := newLab(t, files)
	end := l.run("run", "--session-id", "one", "--model", "script:s.yaml", "--permission-mode", "acceptEdits", "go")
	if end.code != 0 {
		t.Fatalf("%+v", end)
	}
	parts := map[string]string{}
	for _, part := range []string{"BROKEN", "SHORT", "LIAR", "HASTY"} {
		end.out, parts[part], _ = strings.Cut(end.out, part)
	}
	for part, wants := range map[string][]string{
		"HASTY":  {"<tool_uses>1</tool_uses>"},
		"LIAR":   {"hooks objected to its end 8 times, and what they ask for may not be done", "<tool_uses>0</tool_uses>"},
		"SHORT":  {"The agent ended early (max_turns)", "may be partial"},
		"BROKEN": {"The agent ended early (failed)"},
	} {
		for _, want := range wants {
			if !strings.Contains(parts[part], want) {
				t.Errorf("%s: there is no %q in %q", part, want, parts[part])
			}
		}
	}
	if made := l.files("hasty.txt"); len(made) != 1 || strings.Contains(parts["HASTY"], "objected") {
		t.Errorf("the hasty one: %q, %q", made, parts["HASTY"])
	}
}

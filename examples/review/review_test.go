package review

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/event"
	"github.com/google/go-cmp/cmp"
)

var goProject = tree{
	"README.md":             "# Cart\n\nBuild it with go build. See pay.go for the money.\n",
	"go.mod":                "module example.org/cart\n\ngo 1.24\n",
	"main.go":               "package main\n\nfunc main() {\n\tserve() // TODO: flags\n}\n",
	"pay/pay.go":            "package pay\n\nimport \"os/exec\"\n\n// FIXME: no shell\nfunc pay(c string) error {\n\tcmd := exec.Command(\"sh\", \"-c\", c)\n\treturn cmd.Run()\n}\n\nconst limit = 3\n",
	"pay/stock.go":          "package pay\n\nfunc stock() int {\n\treturn 1\n}\n\nvar _ = stock\n",
	"pay/stock_test.go":     "package pay\n\nimport \"testing\"\n\nfunc TestStock(t *testing.T) {\n\tt.Skip(\"slow\")\n}\n",
	"docs/notes with é.md":  "TODO write me\n",
	"internal/tls/dial.go":  "package tls\n\nvar insecure = config{InsecureSkipVerify: true}\n",
	"internal/tls/names.go": "package tls\n",
}

var pyProject = tree{
	"setup.cfg":             "[metadata]\nname = beehive\n",
	"hive/__init__.py":      "",
	"hive/queen.py":         "import subprocess\n\nAPI_KEY = \"abcdefgh12345678\"\n\n\ndef rule(order):\n    subprocess.run(order, shell=True)\n\n\ndef lay(n):\n    return [None] * n\n",
	"hive/worker.py":        "def work():\n    return eval('1')\n\n\nif __name__ == '__main__':\n    work()\n",
	"tests/test_worker.py":  "from hive.worker import work\n\n\ndef test_work():\n    assert work() == 1\n",
	"tests/test_forager.py": "import pytest\n\n\n@pytest.mark.skip\ndef test_x():\n    pass  # XXX\n",
}

func TestReviewOfAGoProject(t *testing.T) {
	t.Parallel()
	out := review(t, repository(t, goProject))
	checkTeam(t, out)
	todo := goProject.places(regexp.MustCompile(`\b(TODO|FIXME)\b`).MatchString)
	wants(t, out.report,
		"Commits: 9. Files: 9.",
		"Newest commit: ", "add pay/stock_test.go.",
		number("Lines of text: %d.", goProject.lines()),
		"    pay/pay.go:11\n    pay/stock.go:7\n    main.go:5\n",
		"I read the first 11 lines of the largest. They declare: `pay`.",
		"I read `pay/pay.go` from the top (11 lines).",
		"Places where a program starts: 1.\n\n- `main.go:3`",
		"Places where a program is started: 1.", "    pay/pay.go:7:\tcmd := exec.Command",
		"Places that look like a secret: 0.",
		"Places where a check is switched off: 1.", "- `internal/tls/dial.go:3` switches a check off.",
		"Test files: 1.", "Source files: 5.",
		"Places where a test may be skipped: 1.", "    pay/stock_test.go:6:\tt.Skip",
		"- `pay/pay.go`: has no test file of its name", "- `pay/stock.go`: has a test file of its name",
		"- `pay/pay.go` is large or risky, and no test file bears its name.",
		"README: `README.md`, which speaks of building or using it.",
		"Markdown documents: 2.",
		number("Notes in the code (TODO, FIXME, XXX, HACK): %d.", len(todo)),
		"- `pay/pay.go`: yes", "- `pay/stock.go`: no",
	)
	for _, place := range todo {
		wants(t, out.report, "    "+place+":")
	}
}

func TestReviewOfAPythonProject(t *testing.T) {
	t.Parallel()
	out := review(t, repository(t, pyProject))
	checkTeam(t, out)
	started := pyProject.places(func(line string) bool {
		return strings.Contains(line, "subprocess.") || strings.Contains(line, "eval(")
	})
	wants(t, out.report,
		"Commits: 6. Files: 6.",
		number("Lines of text: %d.", pyProject.lines()),
		"    hive/queen.py:11\n    hive/worker.py:6\n",
		"Places where a program starts: 1.\n\n- `hive/worker.py:5`",
		"I read the first 11 lines of the largest. They declare: `rule` `lay`.",
		number("Places where a program is started: %d.", len(started)),
		"Places that look like a secret: 1.", "- `hive/queen.py:3` looks like a secret in the tree.",
		"Test files: 2.",
		"- `hive/queen.py`: has no test file of its name", "- `hive/worker.py`: has a test file of its name",
		"there is no README",
		"Notes in the code (TODO, FIXME, XXX, HACK): 1.", "    tests/test_forager.py:6:",
	)
	if strings.Contains(out.report, "abcdefgh12345678") {
		t.Error("the report repeats the secret it found")
	}
	for name := range goProject {
		if strings.Contains(out.report, name) {
			t.Errorf("the report speaks of %s, which is not in this repository", name)
		}
	}
}

func TestReviewOfARepositoryWithoutSources(t *testing.T) {
	t.Parallel()
	out := review(t, repository(t, tree{"LICENSE": "do what you like\n"}))
	checkTeam(t, out)
	wants(t, out.report, "Commits: 1. Files: 1.", "Lines of text: 1.", "There are no source files of a kind I know.", "there is no README")
}

func TestReviewOfARepositoryWithoutCommits(t *testing.T) {
	t.Parallel()
	out := review(t, repository(t, nil))
	checkTeam(t, out)
	wants(t, out.report, "There are no commits to speak of", "Files: 0.", "Lines of text: 0.")
}

func TestReviewOfADirectoryWithoutGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a // TODO\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := review(t, dir)
	checkTeam(t, out)
	wants(t, out.report, "# Review of a directory", "not a git repository", "Notes in the code (TODO, FIXME, XXX, HACK): 1.")
}

func TestReviewOfFilesWithOddNames(t *testing.T) {
	t.Parallel()
	out := review(t, repository(t, tree{"my file.go": "package a\n", "my file_test.go": "package a\n"}))
	checkTeam(t, out)
	wants(t, out.report, "- `my file.go`: has a test file of its name")
}

func TestReviewReplacesAnEarlierReport(t *testing.T) {
	t.Parallel()
	files := tree{Report: "an old TODO\n", "a.go": "package a\n"}
	out := review(t, repository(t, files))
	checkTeam(t, out)
	wants(t, out.report, "Files: 1.", "Notes in the code (TODO, FIXME, XXX, HACK): 0.")
	if strings.Contains(out.report, "an old") {
		t.Error("the old report is still there")
	}
}

// checkTeam checks what holds for every review: who worked, who wrote to whom,
// that everything sent was read once, and that nobody is left.
func checkTeam(t *testing.T, out outcome) {
	t.Helper()
	if out.result.Outcome != "completed" || !strings.Contains(out.result.Text, Report) {
		t.Errorf("the lead ended %s with %q; want completed, and the report named", out.result.Outcome, out.result.Text)
	}
	checkAgents(t, out)
	checkMail(t, out)
	checkCalls(t, out)
	for _, e := range out.events {
		switch f := e.Fact.(type) {
		case event.Denied:
			t.Errorf("%s was refused %s %s: %s", e.Agent.Name, f.Call.Name, f.Call.Input, f.Reason)
		case event.Warning:
			t.Errorf("%s: warning: %s", e.Agent.Name, f.Text)
		case event.TurnEnded:
			if f.Outcome == "failed" {
				t.Errorf("a turn of %s failed: %s", e.Agent.Name, f.Reason)
			}
		}
	}
	if t.Failed() {
		t.Logf("the report:\n%s", out.report)
	}
}

func checkAgents(t *testing.T, out outcome) {
	t.Helper()
	var names []string
	for _, a := range out.agents {
		spec := a.Record.Spec
		if spec.Name == "user" {
			continue
		}
		names = append(names, spec.Name)
		if a.Running || a.Record.TurnOpen {
			t.Errorf("%s is still at work", spec.Name)
		}
		if spec.Name != "team-lead" && !a.Record.Closed {
			t.Errorf("%s was not let go", spec.Name)
		}
		if a.Record.Steps < 3 || a.Record.ToolUses < 3 {
			t.Errorf("%s made %d steps and %d tool calls; every one of the team works with tools", spec.Name, a.Record.Steps, a.Record.ToolUses)
		}
	}
	slices.Sort(names)
	if d := cmp.Diff([]string{"docs", "security", "surveyor", "team-lead", "tests"}, names); d != "" {
		t.Errorf("the team differs (-want +got):\n%s", d)
	}
}

func checkMail(t *testing.T, out outcome) {
	t.Helper()
	times := out.readIDs()
	for word, want := range map[string][]string{
		"START":    {"team-lead > docs", "team-lead > security", "team-lead > surveyor", "team-lead > tests"},
		"HOT":      {"surveyor > docs", "surveyor > security", "surveyor > team-lead", "surveyor > tests"},
		"RISKY":    {"security > tests"},
		"UNTESTED": {"tests > security"},
		"FINDINGS": {"docs > team-lead", "security > team-lead", "surveyor > team-lead", "tests > team-lead"},
	} {
		routes, ids := out.mail(word)
		if d := cmp.Diff(want, routes); d != "" {
			t.Errorf("%s messages differ (-want +got):\n%s", word, d)
		}
		for i, id := range ids {
			if times[id] != 1 {
				t.Errorf("%s message %d was read %d times, want once", word, i, times[id])
			}
		}
	}
}

// inputs are what the team gives to the tools it uses.
var inputs = map[string][]string{
	"Agent":       {"description", "name", "prompt", "subagent_type"},
	"Bash":        {"command", "description"},
	"Glob":        {"pattern"},
	"Grep":        {"-i", "glob", "head_limit", "output_mode", "pattern"},
	"Read":        {"file_path", "limit"},
	"SendMessage": {"message", "summary", "to"},
	"TaskStop":    {"task_id"},
	"Write":       {"content", "file_path"},
}

// checkCalls checks that every call makes sense to somebody who watches: a tool
// of the team with inputs of its own, none of them empty.
func checkCalls(t *testing.T, out outcome) {
	t.Helper()
	for _, e := range out.events {
		f, ok := e.Fact.(event.CallFinished)
		if !ok {
			continue
		}
		var given map[string]any
		if err := json.Unmarshal(f.Call.Input, &given); err != nil {
			t.Fatalf("%s %s: %v", e.Agent.Name, f.Call.Name, err)
		}
		for name, value := range given {
			if !slices.Contains(inputs[f.Call.Name], name) || value == "" {
				t.Errorf("%s calls %s with %s = %q", e.Agent.Name, f.Call.Name, name, value)
			}
		}
	}
}

func wants(t *testing.T, report string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(report, p) {
			t.Errorf("the report does not say %q", p)
		}
	}
}

func number(format string, n int) string { return strings.Replace(format, "%d", strconv.Itoa(n), 1) }

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// TestComposedPathsStayInTheWorktree has an agent with a worktree run a script of its
// repository, where everything is allowed: it composes paths into the main checkout, its
// metadata and the tie to it, and commits.
func TestComposedPathsStayInTheWorktree(t *testing.T) {
	t.Parallel()
	m := sandbox.Probe()
	if err := m.Enforces(sandbox.Edit); err != nil {
		t.Skip(err)
	}
	l := newLab(t, map[string]string{
		"repo/try.sh": `at=$(cat at)
for path in main/new main/file main/.git/config main/.git/hooks/post-commit main/.git/HEAD main/.git/new; do
	(echo x >> "$at/repo${path#main}") 2>/dev/null && echo "wrote $path"
done
mv "$at/repo/file" "$at/repo/moved" 2>/dev/null && echo "moved a file"
mv "$at/repo" "$at/other" 2>/dev/null && echo "moved the checkout"
mv .git tie 2>/dev/null && echo "moved the tie"
chmod 777 "$at/repo/file" 2>/dev/null && echo "changed a mode"
echo mine > own && git add own && git -c user.name=t -c user.email=t@example.com commit -qm own && echo "made a commit"
git checkout -q -b branch-of-mine && echo "made a branch"
echo x > "$at/elsewhere" && echo "wrote elsewhere"
`,
		"repo/file": "one",
		"s.yaml": `rules:
  - when: {agent: lead, step: 0}
    say:
      calls: [{tool: Agent, input: {name: mate, description: d, prompt: p, isolation: worktree}}]
  - when: {agent: mate, step: 0}
    say:
      calls: [{tool: Bash, input: {command: sh ./try.sh}}]
  - say: {text: done}
`,
	})
	write := exec.Command("sh", "-c", `echo "$PWD" > repo/at && cd repo && git init -q && git add . && git -c user.name=t -c user.email=t@example.com commit -qm first`)
	write.Dir, write.Env = l.dir, l.env
	if out, err := write.CombinedOutput(); err != nil {
		t.Skipf("git cannot make a repository: %v: %s", err, out)
	}
	cmd := l.command("run", "--session-id", "one", "--model", "script:../s.yaml", "--permission-mode", "bypassPermissions", "go")
	cmd.Dir = l.dir + "/repo"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd = l.command("logs", "mate", "--session", "one")
	cmd.Dir = l.dir + "/repo"
	logs, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"made a commit", "made a branch", "wrote elsewhere"} {
		if !strings.Contains(string(logs), want) {
			t.Errorf("the agent has not %s:\n%s", want, logs)
		}
	}
	for _, bad := range []string{"wrote main", "moved", "changed a mode"} {
		if strings.Contains(string(logs), bad) {
			t.Errorf("the agent %s:\n%s", bad, logs)
		}
	}
}

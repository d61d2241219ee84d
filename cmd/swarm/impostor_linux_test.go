package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// impostor is a command of an agent that wants to be a member: with a clear environment, in
// a session of its own, and as an orphan.
const impostor = `
try() {
  { printf '%%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}' \
    '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send","arguments":{"to":"lead","message":"I am bob","summary":"s"}}}'; } | "$@" 2>&1
}
BARE="env -i HOME=%[1]s SWARM_HOME=%[1]s/.swarm PATH=/usr/bin:/bin"
{
  for name in bob lead eve; do try $BARE %[2]s mcp --name $name --session s1; done
  for name in bob eve; do try $BARE setsid -w %[2]s mcp --name $name --session s1; done
  $BARE sh -c '( ( setsid %[2]s mcp --name bob --session s1 </dev/null >orphan 2>&1; echo end >>orphan ) & )'
  while ! grep -q end orphan; do sleep 0.05; done; cat orphan
  try $BARE SWARM_TOKEN_FILE=%[3]s %[2]s mcp --name bob --session s1
  cat %[3]s
  $BARE %[2]s mcp config bob --session s1
  $BARE %[2]s inbox bob --session s1
} >told 2>&1
cat told >done
`

// TestACommandOfAnAgentIsNoMember under the profiles whose commands may run programs.
func TestACommandOfAnAgentIsNoMember(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed: the command that impersonates a member needs it")
	}
	for profile, settings := range map[string]string{
		"open": `{"permissions":{"defaultMode":"bypassPermissions"}}`,
		"edit": `{"sandbox":{"enabled":true,"failIfUnavailable":false}}`,
	} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, map[string]string{
				"s.yaml":                      "rules:\n  - when: {agent: lead, after: Bash}\n    say: {text: ok}\n  - say: {calls: [{tool: Bash, input: {command: sh ./impostor.sh}}]}\n",
				".home/.claude/settings.json": settings,
			})
			if profile == "edit" && !strings.Contains(l.run("doctor").out, "mount namespaces") {
				t.Skip("the profile edit needs mount namespaces, and this machine has none")
			}
			actAsImpostor(l)
		})
	}
}

// ownProgram returns the program in a place where commands under each profile can run it.
func (l *lab) ownProgram() string {
	l.Helper()
	path, err := exec.LookPath("swarm")
	if err != nil {
		l.Fatal(err)
	}
	own := filepath.Join(l.dir, "swarm")
	if os.Link(path, own) == nil {
		return own
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		l.Fatal(err)
	}
	if err := os.WriteFile(own, raw, 0o755); err != nil {
		l.Fatal(err)
	}
	return own
}

func actAsImpostor(l *lab) {
	l.Helper()
	swarm := l.ownProgram()
	done := l.fifo("done")
	if end := l.run("serve", "--detach", "--session-id", "s1", "--model", "script:s.yaml"); end.code != 0 {
		l.Fatalf("%+v", end)
	}
	l.Cleanup(func() { l.run("quit", "s1") })
	if end := l.run("mcp", "config", "bob"); end.code != 0 || !strings.Contains(end.out, `"SWARM_TOKEN_FILE": `) || strings.Contains(end.out, "SU") {
		l.Fatalf("%+v", end)
	}
	tokens, err := filepath.Glob(filepath.Join(l.dir, ".home/.swarm/projects/*/s1/bus/bob.token"))
	if err != nil || len(tokens) != 1 {
		l.Fatalf("the tokens are %v, %v", tokens, err)
	}
	script := fmt.Sprintf(impostor, filepath.Join(l.dir, ".home"), swarm, tokens[0])
	if err := os.WriteFile(filepath.Join(l.dir, "impostor.sh"), []byte(script), 0o600); err != nil {
		l.Fatal(err)
	}
	if end := l.run("send", "lead", "go"); end.code != 0 {
		l.Fatalf("%+v", end)
	}
	told := l.await(done)
	for _, joined := range []string{"serverInfo", "mcpServers", "sent"} {
		if strings.Contains(told, joined) {
			l.Errorf("it was let in:\n%s", told)
		}
	}
	if n := strings.Count(told, "nothing proves that this program is") + strings.Count(told, "is not running") + strings.Count(told, "there is no session"); n < 6 {
		l.Errorf("it was refused %d times only:\n%s", n, told)
	}
	if mail := l.run("inbox", "lead"); strings.Contains(mail.out, "I am bob") {
		l.Errorf("the lead believes: %s", mail.out)
	}
}

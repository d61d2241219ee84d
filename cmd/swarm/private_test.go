package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const keeper = `rules:
  - when: {agent: lead, step: 0}
    say:
      calls:
        - {tool: Agent, input: {name: ann, description: look, prompt: look}}
        - {tool: TaskCreate, input: {subject: look, description: look}}
        - {tool: Bash, input: {command: "env; awk 'BEGIN{while(i++<100000)print i}'"}}
        - {tool: Write, input: {file_path: made.txt, content: "x"}}
  - when: {agent: ann, step: 0}
    say: {calls: [{tool: Bash, input: {command: env}}]}
  - say: {text: fine}
`

// Whatever the umask, all that a session keeps is for its user alone, and what
// stands in our environment for us is in none of it.
func TestWhatASessionKeepsIsPrivate(t *testing.T) {
	t.Parallel()
	const secret = "sk-that-nobody-else-sees"
	l := newLab(t, map[string]string{"s.yaml": keeper})
	cmd := exec.Command("/bin/sh", "-c", `umask 000; exec swarm run --session-id one --teammate-mode process \
		--permission-mode bypassPermissions --model script:s.yaml go`)
	cmd.Dir, cmd.Env = l.dir, append(l.env, "ANTHROPIC_API_KEY="+secret, "DEPLOY_TOKEN="+secret)
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte(secret)) {
		t.Fatalf("%v\n%s", err, out)
	}
	seen := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(l.dir, ".home", ".swarm"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen[d.Name()] = true
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(secret)) {
			t.Errorf("the secret is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"journal", "nodes", "outputs", "transcripts", "session.json", "tasks.json", "run"} {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

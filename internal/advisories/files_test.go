package advisories

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// secret is the content of files that must not be read.
const secret = "CONTENT-42"

// unread fails the test for each outcome that holds the secret.
func (l *lab) unread(calls []call, results []outcome) {
	l.Helper()
	for i, o := range results {
		if strings.Contains(o.text, secret) {
			l.Errorf("%s %v has read the secret: %.200s", calls[i].Tool, calls[i].Input, o.text)
		}
	}
}

// nowhere fails the test if the secret stands in a file below a directory of the lab.
func (l *lab) nowhere(dir string) {
	l.Helper()
	err := filepath.WalkDir(l.path(dir), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), secret) {
			l.Errorf("the secret stands in %s", path)
		}
		return err
	})
	if err != nil {
		l.Fatal(err)
	}
}

func TestCVE_2025_54794_PathsThatBeginLikeTheProject(t *testing.T) {
	confined(t)
	t.Parallel()
	l := newLab(t)
	l.write("project-evil/f", secret+" canary")
	l.write("project/sub/f", "mine")
	l.link("../project-evil", "project/evil")
	l.link("..", "project/sub/up")
	var calls []call
	for _, dir := range []string{
		"../project-evil", l.path("project-evil"), l.dir + "-evil", l.dir + "/../project-evil", "sub/../../project-evil", "evil", "./evil/.", l.dir + "/evil",
		"sub/up/evil", "..//project-evil/", l.dir + "/./.././project-evil",
	} {
		for _, tool := range []string{"Read", "Write", "Edit"} {
			calls = append(calls, file(tool, dir+"/f"))
		}
		calls = append(calls, file("Write", dir+"/made"), file("Grep", dir), file("Glob", dir), call{Tool: "Glob", Input: map[string]any{"pattern": dir + "/*"}},
			bash("cat "+dir+"/f"), bash("head -c 20 <"+dir+"/f"), bash("cp "+dir+"/f copy; cat copy"), bash("touch "+dir+"/made"))
	}
	judged := len(calls)
	// Without its link this path is inside, and that is what file tools open; the kernel
	// stops commands.
	for _, tool := range []string{"Read", "Write", "Edit", "Grep", "Glob"} {
		calls = append(calls, file(tool, "sub/up/../project-evil/f"))
	}
	calls = append(calls, bash("cat sub/up/../project-evil/f"), bash("touch sub/up/../project-evil/made"))
	results := l.session(calls, "--permission-mode", "acceptEdits")
	l.unread(calls, results)
	for i, o := range results[:judged] {
		if !o.denied {
			t.Errorf("%s %v was not denied: %.100s", calls[i].Tool, calls[i].Input, o.text)
		}
	}
	l.absent("project-evil/made")
	if text := l.read("project-evil/f"); text != secret+" canary" {
		t.Errorf("the file outside is now %q", text)
	}
}

// denied returns a lab with a directory that rules deny, and links to it.
func denied(t *testing.T) (*lab, []string) {
	l := newLab(t)
	l.write("project/hidden/key", secret+" canary")
	l.write("project/open", "canary")
	l.link("hidden", "project/alias")
	l.link("hidden/key", "project/f")
	l.link("../alias/key", "project/sub/deep")
	return l, []string{"--dangerously-skip-permissions", "--settings", `{"permissions": {"deny": ["Read(hidden/**)", "Edit(hidden/**)"]}}`}
}

func TestCVE_2025_59829_DeniedFilesBehindLinks(t *testing.T) {
	t.Parallel()
	l, args := denied(t)
	var calls []call
	for _, path := range []string{"hidden/key", "alias/key", "f", "sub/deep", "sub/../alias/key", l.dir + "/alias/key", "./hidden/./key", "hidden//key", "alias/../hidden/key"} {
		for _, tool := range []string{"Read", "Grep", "Edit", "Write"} {
			calls = append(calls, file(tool, path))
		}
	}
	for _, path := range []string{".", "hidden", "hidden/", "alias", "alias/"} {
		calls = append(calls, file("Grep", path))
	}
	l.unread(calls, l.session(calls, args...))
	if text := l.read("project/hidden/key"); text != secret+" canary" {
		t.Errorf("the denied file is now %q", text)
	}
	end := l.swarm("run", "--model", l.script(nil), "--settings", args[2], "@f and @alias/key and @hidden/key")
	if end.code != 0 {
		t.Errorf("%+v", end)
	}
	l.nowhere("home")
}

func TestCVE_2026_25724_DeniedFilesForEveryTool(t *testing.T) {
	confined(t)
	t.Parallel()
	l, args := denied(t)
	calls := []call{file("Glob", "hidden"), file("Glob", "alias"), {Tool: "Glob", Input: map[string]any{"pattern": "alias/*"}}, {Tool: "Glob", Input: map[string]any{"pattern": "**"}}}
	names := len(calls)
	for _, command := range []string{
		"cat hidden/key", "cat alias/key", "cat f", "head -1 <sub/deep", "cat hid*/k*", "cd hidden && cat key", "cd alias; cat key", "grep -r CONTENT .", "tail -n +1 -- */*",
		`d=hid; cat ${d}den/key`, "cat $(echo hidden)/key", "cp f g; cat g", "cp -r hidden h2; cat h2/key", "mv hidden h3; cat h3/key", "cat h3/key", "ln hidden/key hard; cat hard",
		"tar cf - hidden | tar xf - -O", "sh -c 'cat alias/key'", "find . -name key -exec cat {} +", "dd if=hidden/key 2>/dev/null", "exec 3<hidden/key; cat <&3", "while read -r l; do echo $l; done <f",
		"awk 1 alias/key", "sed -n p f", "base64 -d <<<$(base64 hidden/key)", "ls hidden/; cat /proc/self/cwd/hidden/key",
	} {
		calls = append(calls, bash(command))
	}
	results := l.session(calls, args...)
	l.unread(calls, results)
	for i := range names {
		if strings.Contains(results[i].text, "key") {
			t.Errorf("%v shows %q", calls[i].Input, results[i].text)
		}
	}
}

func TestCVE_2026_25725_NamesThatOthersObey(t *testing.T) {
	confined(t)
	t.Parallel()
	l := newLab(t)
	names := []string{".claude/settings.json", ".mcp.json", ".npmrc", ".envrc", ".vscode/tasks.json", ".git/hooks/post-checkout", ".husky/pre-commit", ".gitattributes", ".swarm/x"}
	var calls []call
	for _, name := range names {
		l.write("project/src/"+name, `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch `+l.path("ran")+`"}]}]}}`)
		top, _, _ := strings.Cut(name, "/")
		calls = append(calls, file("Write", name), bash("cp src/"+name+" "+name), bash("mkdir -p "+filepath.Dir(name)+"; touch "+name), bash("cp -r src/"+top+" ."),
			bash("cp -r src/"+top+" x && mv x "+top), bash("ln -s src/"+top+" "+top), bash("mkdir "+top), bash("touch "+top))
	}
	calls = append(calls, bash("cp -r src/. ."), bash("cp -r src/.??* ."), bash("cp -rT src ."), bash("cd src; cp -r . .."), bash("mv src/.[a-z]* ."), bash("cp -r src/. ./"), bash("ln -s src/.claude ./.claude"))
	l.session(calls, "--permission-mode", "acceptEdits")
	for _, name := range names {
		top, _, _ := strings.Cut(name, "/")
		l.absent("project/" + top)
	}
	l.session(nil)
	l.absent("ran")
}

func TestCVE_2026_39861_LinksThatFlip(t *testing.T) {
	confined(t)
	t.Parallel()
	writes := 200
	if os.Getenv("SWARM_SOAK") != "" {
		writes = 100_000
	}
	l := newLab(t)
	l.write("project/dir/f", "mine")
	l.write("outside/f", secret)
	l.link("../outside", "project/link")
	ended := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			for _, move := range [][2]string{{"dir", "aside"}, {"link", "dir"}, {"dir", "link"}, {"aside", "dir"}} {
				from, to := l.path("project/"+move[0]), l.path("project/"+move[1])
				if err := os.Rename(from, to); err != nil && !os.IsNotExist(err) { // Write has made the directory where it was missing
					_ = os.RemoveAll(to)
					_ = os.Rename(from, to)
				}
			}
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	for left := writes; left > 0; left -= 1000 {
		var calls []call
		for i := range min(left, 1000) {
			calls = append(calls, file([]string{"Write", "Read", "Grep", "Edit"}[i%4], "dir/f"))
		}
		l.unread(calls, l.session(calls, "--permission-mode", "acceptEdits"))
	}
	close(ended)
	work.Wait()
	if text := l.read("outside/f"); text != secret {
		t.Errorf("the file outside is now %q", text)
	}
	if left, err := os.ReadDir(l.path("outside")); err != nil || len(left) != 1 {
		t.Errorf("outside are %v, %v", left, err)
	}
}

func TestCVE_2026_34451_DirectoriesOfMemory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("home/.claude/agents/noter.md", "---\nname: noter\ndescription: notes\nmemory: user\n---\nNote.\n")
	l.write("home/.claude/agent-memory/noter-evil/f", secret+" canary")
	l.link("../noter-evil", "home/.claude/agent-memory/noter/link")
	memory := l.path("home/.claude/agent-memory/noter")
	var calls []call
	for _, dir := range []string{memory + "-evil", memory + "/../noter-evil", memory + "/link"} {
		for _, tool := range []string{"Read", "Write", "Edit"} {
			calls = append(calls, file(tool, dir+"/f"))
		}
		calls = append(calls, file("Write", dir+"/made"))
	}
	calls = append(calls, file("Write", memory+"/note"))
	results := l.child("noter", calls)
	l.unread(calls, results)
	for i, o := range results[:len(results)-1] {
		if !o.denied {
			t.Errorf("%s %v was not denied: %.100s", calls[i].Tool, calls[i].Input, o.text)
		}
	}
	l.absent("home/.claude/agent-memory/noter-evil/made")
}

func TestCVE_2025_59532_TheDirectoryThatAModelNames(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("outside/f", secret)
	l.link("../outside", "project/link")
	var calls []call
	for _, dir := range []string{"/", "..", l.path("outside"), "link", "project/../../outside"} {
		calls = append(calls, call{Tool: "Agent", Input: map[string]any{"subagent_type": "general-purpose", "description": "d", "prompt": "p", "cwd": dir}})
	}
	for i, o := range l.session(calls, "--permission-mode", "acceptEdits") {
		if strings.Contains(o.text, "done") {
			t.Errorf("an agent has worked in %v: %.200s", calls[i].Input["cwd"], o.text)
		}
	}
}

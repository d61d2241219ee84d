package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretsCannotBeRead reads each canary in many ways, without a sandbox, where each
// succeeds, and under each profile.
func TestSecretsCannotBeRead(t *testing.T) {
	needs(t, "setsid", "seq", "stat")
	ways := map[string]string{
		"path":              `cat ~/.ssh/id`,
		"credentials":       `cat ~/.aws/credentials`,
		"file":              `cat ~/.netrc`,
		"below another":     `cat ~/.config/gcloud/key`,
		"by pattern":        `cat ~/.claude/.credentials.json`,
		"journal":           `cat "$STATE"/projects/p/s/journal/1`,
		"output of another": `cat "$STATE"/projects/p/s/outputs/bob/1`,
		"link":              `cat link`,
		"link to directory": `cat up/.ssh/id`,
		"dots":              `cat ../.ssh/id`,
		"new link":          `T="${TMPDIR:-/tmp}/t$$-$RANDOM"; mkdir "$T" && ln -s ~/.ssh "$T/l" && cat "$T/l/id"`,
		"hard link":         `T=./t$$-$RANDOM; mkdir "$T" 2>/dev/null || { T="${TMPDIR:-/tmp}/$T" && mkdir "$T"; }; ln ~/.ssh/id "$T/h" && cat "$T/h"`,
		"own root":          `cat /proc/self/root"$HOME"/.ssh/id`,
		"root of another":   `cat /proc/"$PPID"/root"$HOME"/.ssh/id`,
		"working directory": `cat /proc/self/cwd/../.ssh/id`,
		"renamed":           `mv ~/.ssh ~/other 2>/dev/null; cat ~/other/id ~/.ssh/id; mv ~/other ~/.ssh 2>/dev/null; true`,
		"copied":            `T="${TMPDIR:-/tmp}/t$$-$RANDOM"; mkdir "$T" && cp -r ~/.ssh "$T" && cat "$T"/.ssh/id`,
		"unmounted":         `umount -l ~/.ssh 2>/dev/null; cat ~/.ssh/id`,
		"own namespace":     `unshare -m sh -c "umount -l ~/.ssh; cat ~/.ssh/id" 2>/dev/null || cat ~/.ssh/id`,
		"user namespace":    `unshare -rm sh -c "umount -l ~/.ssh; cat ~/.ssh/id" 2>/dev/null || cat ~/.ssh/id`,
		"namespace of init": `nsenter -t 1 -m cat ~/.ssh/id 2>/dev/null || cat ~/.ssh/id`,
	}
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			l := newLab(t)
			reached := 0
			for way, script := range ways {
				if bare := l.bare(script); !strings.Contains(bare, canary) {
					t.Errorf("%s: without a sandbox it reads nothing: %s", way, bare)
					continue
				}
				reached++
				for _, n := range m.names() {
					if out := l.run(t, m, l.profile(n), script); strings.Contains(out, canary) {
						t.Errorf("%s: under %s it reads the canary", way, n)
					}
				}
			}
			if reached != len(ways) {
				t.Errorf("%d of %d ways lead to a canary", reached, len(ways))
			}
		})
	}
}

// TestUsualFilesCanBeRead is the other half: what is not hidden is there.
func TestUsualFilesCanBeRead(t *testing.T) {
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			l := newLab(t)
			for script, profiles := range map[string][]Name{
				`cat file sub/file; cat < <(echo inner); cat <<< here; ls -a; git --version; id -u`:  Names(),
				`echo text > /dev/null; cat "$TMPDIR/file"; echo new > "$TMPDIR/x"; cat "$TMPDIR/x"`: {Inspect, Edit},
				`cat ~/notes ~/.config/other/file "$ELSE/file"; ls ~ / > /dev/null`:                  {Open},
				`cat "$STATE"/projects/p/s/outputs/ann/1`:                                            Names(),
				`echo new > new && cat new && mkdir -p d/e && mv new d/e/ && cat d/e/new`:            {Edit, Open},
			} {
				if m.mounts() || !strings.Contains(script, "mkdir") {
					for _, n := range profiles {
						if m.Enforces(n) != nil {
							continue
						}
						out := l.run(t, m, l.profile(n), "set -e; "+script)
						if strings.Contains(out, "denied") || strings.Contains(out, "No such") || strings.Contains(out, "permitted") {
							t.Errorf("under %s %s says\n%s", n, script, out)
						}
					}
				}
			}
		})
	}
}

// TestAWorkingDirectoryIsShown, also where it is hidden or lies below what is; what is
// hidden below it stays so.
func TestAWorkingDirectoryIsShown(t *testing.T) {
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			l := newLab(t)
			write(t, l.dir+"/keep/secret", canary)
			for _, hidden := range []string{l.dir, l.home, l.dir + "/keep"} {
				for _, n := range m.names() {
					p := Place{Dirs: []string{l.dir}, Home: l.home, Hidden: []string{hidden, l.dir + "/keep"}, Getenv: os.Getenv}.Profile(n)
					if out := l.run(t, m, p, "cat file keep/secret ~/.ssh/id"); !strings.Contains(out, visible) || strings.Contains(out, canary) {
						t.Errorf("under %s with %s hidden it says %s", n, hidden, out)
					}
				}
			}
		})
	}
}

func TestInspectWritesNothing(t *testing.T) {
	needs(t, "setsid", "seq", "stat")
	ways := map[string]string{
		"new file":    `echo x > "$OUT"/new`,
		"append":      `echo x >> "$OUT"/file`,
		"truncate":    `: > "$OUT"/file`,
		"directory":   `mkdir "$OUT"/made`,
		"remove":      `rm "$OUT"/file`,
		"link":        `ln -s /etc/passwd "$OUT"/l`,
		"rename":      `mv "$OUT"/file "$OUT"/moved`,
		"through":     `T="${TMPDIR:-/tmp}/t$$-$RANDOM"; mkdir "$T"; ln -s "$OUT" "$T/l"; echo x > "$T/l/new"`,
		"hard link":   `T="${TMPDIR:-/tmp}/t$$-$RANDOM"; mkdir "$T"; ln "$OUT/file" "$T/h" && echo x >> "$T/h"`,
		"open handle": `exec 9<>"$OUT/file"; echo x >&9`,
		"attributes":  `truncate -s 1 "$OUT"/file`,
	}
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			reached := 0
			for way, script := range ways {
				l := newLab(t)
				for _, out := range []string{l.dir, l.else_, l.home} {
					write(t, out+"/file", visible)
					before := tree(t, out)
					l.run(t, m, l.profile(Inspect), "OUT="+out+"; "+script)
					if after := tree(t, out); after != before {
						t.Errorf("%s: %s changed from\n%s\nto\n%s", way, out, before, after)
					}
					l.bare("export TMPDIR=" + l.temp + " OUT=" + out + "; " + script)
					if after := tree(t, out); after != before {
						reached++
					}
				}
			}
			if reached != 3*len(ways) {
				t.Errorf("%d of %d changes happen without a sandbox", reached, 3*len(ways))
			}
		})
	}
}

// tree lists what is below a directory with the content of the files.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v", path, e.Type())
		if e.Type().IsRegular() {
			text, err := os.ReadFile(path)
			fmt.Fprintf(&b, " %s\n", text)
			return err
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTheWayToADeniedFileKeepsItsName tries to rename the directories in which a denied file
// lies: the next command would find it under another name.
func TestTheWayToADeniedFileKeepsItsName(t *testing.T) {
	for machine, m := range machines(t) {
		for _, name := range []Name{Edit, Open} {
			t.Run(machine+" "+string(name), func(t *testing.T) {
				if err := m.Enforces(Edit); err != nil {
					t.Skip(err)
				}
				l := newLab(t)
				denied := l.dir + "/a/b/key"
				write(t, denied, canary)
				write(t, l.dir+"/free/file", visible)
				p := l.profile(name)
				p.Hidden, p.Denied = append(p.Hidden, denied), []string{denied}
				out := l.run(t, m, p, `mv a gone; mv a/b gone; mv a/b/key gone; cd a; mv b gone; cd ..; mv free moved; touch a/b/new; mv a/b/new a/new`)
				if text, err := os.ReadFile(denied); string(text) != canary {
					t.Errorf("the denied file is %q, %v; the command said %s", text, err, out)
				}
				for _, path := range []string{"/moved/file", "/a/new"} {
					if _, err := os.Stat(l.dir + path); err != nil {
						t.Errorf("%v; the command said %s", err, out)
					}
				}
			})
		}
	}
}

// TestEditLeavesFixedNamesAlone tries to change and to make names that other programs
// obey.
func TestEditLeavesFixedNamesAlone(t *testing.T) {
	needs(t, "setsid", "seq", "stat")
	ways := map[string]string{
		"existing":      `echo x > .git/config`,
		"append":        `echo x >> .git/config`,
		"remove":        `rm -rf .git`,
		"rename":        `mv .git gone`,
		"below":         `mkdir -p .git/hooks; echo x > .git/hooks/pre-commit`,
		"new directory": `mkdir -p .claude && echo x > .claude/settings.json`,
		"new file":      `echo x > .mcp.json`,
		"new link":      `mkdir evil; ln -s "$PWD/evil" .claude`,
		"new rename":    `mkdir evil; echo x > evil/settings.json; mv -T evil .claude`,
		"late":          `sleep 0.1; echo x > .envrc`,
		"over":          `echo x > y; mv -f y .npmrc`,
		"by hand link":  `echo x > y; ln -f y .ripgreprc`,
		"from a child":  `(setsid sh -c "mkdir -p .vscode; echo x > .vscode/tasks.json")`,
	}
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			if err := m.Enforces(Edit); err != nil {
				t.Skip(err)
			}
			reached := 0
			for way, script := range ways {
				l := newLab(t)
				write(t, l.dir+"/.git/hooks/old", visible)
				before := fixedTree(t, l)
				out := l.run(t, m, l.profile(Edit), script)
				if after := fixedTree(t, l); after != before {
					t.Errorf("%s: it changed\n%s\nto\n%s\nand said %s", way, before, after, out)
				}
				l.bare(script)
				if fixedTree(t, l) != before {
					reached++
				}
			}
			if reached != len(ways) {
				t.Errorf("%d of %d changes happen without a sandbox", reached, len(ways))
			}
		})
	}
}

func fixedTree(t *testing.T, l *lab) string {
	t.Helper()
	var b strings.Builder
	for _, f := range (Place{}).fixedIn([]string{l.dir}) {
		info, err := os.Lstat(f.Path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(f.Path + " " + info.Mode().Type().String() + "\n")
		if info.IsDir() {
			b.WriteString(tree(t, f.Path))
		}
	}
	return b.String()
}

// TestEditWritesNothingElse tries to write beside the working directory.
func TestEditWritesNothingElse(t *testing.T) {
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			if err := m.Enforces(Edit); err != nil {
				t.Skip(err)
			}
			l := newLab(t)
			before := tree(t, l.home) + tree(t, l.else_)
			script := `echo x > ~/new; echo x >> ~/notes; rm -f "$ELSE/file"; echo x > up/through; mkdir ~/d; true`
			l.run(t, m, l.profile(Edit), script)
			if after := tree(t, l.home) + tree(t, l.else_); after != before {
				t.Errorf("it changed\n%s\nto\n%s", before, after)
			}
			if l.bare(script); tree(t, l.home)+tree(t, l.else_) == before {
				t.Error("without a sandbox nothing changes either")
			}
		})
	}
}

// TestPlaceholdersGoWithTheirLastUser: a name that did not exist does not exist after
// the last command, and one of the user that is empty stays.
func TestPlaceholdersGoWithTheirLastUser(t *testing.T) {
	for machine, m := range machines(t) {
		if m.Enforces(Edit) != nil {
			continue
		}
		t.Run(machine, func(t *testing.T) {
			l := newLab(t)
			write(t, l.dir+"/.npmrc", "")
			before := tree(t, l.dir)
			first, err := m.Start(l.in("sleep 60"), l.profile(Edit))
			if err != nil {
				t.Fatal(err)
			}
			if out := l.run(t, m, l.profile(Edit), "ls -a"); !strings.Contains(out, ".mcp.json") {
				t.Errorf("no placeholder is seen: %s", out)
			}
			if out := l.run(t, m, l.profile(Edit), "echo x > .mcp.json"); !strings.Contains(out, "Read-only") {
				t.Errorf("after another command has ended it says %s", out)
			}
			if _, err := os.Lstat(l.dir + "/.mcp.json"); err != nil {
				t.Errorf("the placeholder went with another command: %v", err)
			}
			if err := first.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = first.Wait() // it was killed
			if _, err := first.KillAll(); err != nil {
				t.Error(err)
			}
			if err := first.Close(); err != nil {
				t.Error(err)
			}
			if after := tree(t, l.dir); after != before {
				t.Errorf("the directory was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// TestPlaceholdersOfTheDeadAreRemoved, and neither those in use nor files of the user.
func TestPlaceholdersOfTheDeadAreRemoved(t *testing.T) {
	l := newLab(t)
	pl := Place{Dirs: []string{l.dir}}
	write(t, l.dir+"/.npmrc", "")
	if err := os.Mkdir(l.dir+"/.swarm", 0o755); err != nil {
		t.Fatal(err)
	}
	before := tree(t, l.dir)
	paths, used, err := hold([]Fixed{{Path: l.dir + "/.envrc"}})
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	for _, f := range []Fixed{{Path: l.dir + "/.claude", Dir: true}, {Path: l.dir + "/.mcp.json"}} {
		if err := f.make(); err != nil {
			t.Fatal(err)
		}
	}
	if err := pl.RemovePlaceholders(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(l.dir + "/.envrc"); err != nil {
		t.Errorf("one in use: %v", err)
	}
	if err := used[0].release(); err != nil {
		t.Fatal(err)
	}
	if after := tree(t, l.dir); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
}

// TestFreeBelowFixed: of what is fixed and what is free, the nearest decides.
func TestFreeBelowFixed(t *testing.T) {
	needs(t, "mv", "touch")
	for machine, m := range machines(t) {
		if !m.mounts() {
			continue
		}
		t.Run(machine, func(t *testing.T) {
			l := newLab(t)
			write(t, l.dir+"/sub/free/kept/file", visible)
			write(t, l.dir+"/sub/free/file", visible)
			p := l.profile(Open)
			p.Fixed = append(p.Fixed, Fixed{Path: l.dir}, Fixed{Path: l.dir + "/sub/free/kept"})
			p.Free = []string{l.dir + "/sub/free", l.dir + "/nothing", l.else_}
			for path, want := range map[string]bool{"file": false, "new": false, "sub/new": false, "sub/free/file": true, "sub/free/new": true, "sub/free/kept/file": false, "../../else/new": true} {
				if p.MayWrite(filepath.Join(l.dir, path)) != want {
					t.Errorf("MayWrite(%s) is %v", path, !want)
				}
				out := l.run(t, m, p, "echo x >> "+path+" && echo written; mv sub/free sub/other; mv sub other; touch .git/config")
				if strings.Contains(out, "written") != want || strings.Count(out, "mv: ") != 2 || !strings.Contains(out, "touch: ") {
					t.Errorf("%s: %s", path, out)
				}
			}
		})
	}
}

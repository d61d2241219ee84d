package permission

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// withFiles is a policy for a project with files, which are given with their paths. A name
// that ends in "@" is a link.
func withFiles(m Mode, paths ...string) Policy {
	files := fstest.MapFS{}
	for _, p := range paths {
		name, isLink := strings.CutSuffix("srv/proj/"+p, "@")
		files[name] = &fstest.MapFile{}
		if isLink {
			files[name].Mode = fs.ModeSymlink
		}
	}
	p := policy(m)
	p.ReadDir = func(dir string, limit int) ([]fs.DirEntry, error) {
		info, err := files.Stat(strings.TrimPrefix(dir, "/"))
		if err != nil || !info.IsDir() {
			return nil, nil
		}
		list, err := files.ReadDir(strings.TrimPrefix(dir, "/"))
		return list[:min(limit, len(list))], err
	}
	return p
}

func TestDirectoriesAreLookedInto(t *testing.T) {
	p := withFiles(AcceptEdits, "free/a.go", "free/b/c.go", "mk/Makefile", "ci/.github/workflows/x.yml", "deep/a/b/CLAUDE.md", "tool/.claude/settings.json",
		"rc/.envrc", "repo/.git/config", "old/package.json", "to/x", "file", "made/a.go", "links/a@")
	for command, want := range map[string]Behavior{
		"cp -r free new": Allow, "mv free new": Allow, "rm -rf free": Allow, "cp -r free/. .": Allow, "cp -rt new free": Allow, "mv file to": Allow, "rm file": Allow,
		"cp -r links new": Allow, "rm -r links": Allow, "cp -r none new": Allow, "mkdir m && cp -r free m": Allow, "cp -rL free new": Allow,
		"cp -r mk/. .": Ask, "cp -r mk new": Ask, "cp -a ci new": Ask, "cp -R deep new": Ask, "cp --recursive tool new": Ask, "cp -r rc new": Ask, "cp -r repo new": Ask,
		"mv mk new": Ask, "mv deep to/x2": Ask, "mv repo to": Ask, "rm -rf deep": Ask, "rm -r repo": Ask, "rm -rf ./old/": Ask, "timeout 5 rm -r old": Ask,
		"cp -rt new mk": Ask, "cp -r -t new mk": Ask, "cp -r --target-directory=new mk": Ask, "cp -rtnew mk": Ask, "cd deep && cp -r a ../new": Ask, "cp -r free mk new": Ask,
		"mv --exchange free mk": Ask, "cp -rL links new": Ask, "cp -r --dereference links new": Ask,
		"cp -r free n && cp -r n m": Allow, "echo x > new/.x; cp -r new m": Allow, "cp -r free .": Allow,
	} {
		check(t, p, bash(command), want)
	}
	for command, name := range map[string]string{
		"cp -r mk/. .": "/srv/proj/Makefile, which others run or obey", "rm -rf deep": "/srv/proj/deep/a/b/CLAUDE.md, which others", "cp -r rc/. .": "/srv/proj/.envrc is protected",
		"rm -r repo": "/srv/proj/repo/.git is protected", "cp -rL links new": "not all that /srv/proj/links holds",
	} {
		if d := Decide(p, bash(command)); !strings.Contains(d.Reason, name) {
			t.Errorf("%s: the reason is %q", command, d.Reason)
		}
	}
	auto := p
	auto.Mode = Auto
	if d := Decide(auto, bash("rm -rf deep")); d.Behavior != Ask || d.Judge != JudgedFirst {
		t.Errorf("in auto: %v, %v", d.Behavior, d.Judge)
	}
	if d := Decide(auto, bash("cp -r repo new")); d.Behavior != Ask || d.Judge != NotJudged {
		t.Errorf("a protected name in auto: %v, %v", d.Behavior, d.Judge)
	}
}

// A rule for the command allows what a directory holds, but not that a protected name
// appears.
func TestARuleCoversTheDirectory(t *testing.T) {
	p := withFiles(AcceptEdits, "mk/Makefile", "repo/.git/config")
	for command, want := range map[string]int{"cp -r mk new": 1, "rm -rf mk": 1, "rm -rf repo": 0, "cp -r repo new": 0} {
		texts := Suggest(p, bash(command))
		if len(texts) != want {
			t.Errorf("%s: the rules are %q", command, texts)
		}
	}
	p.Allow = rules(t, "Bash(cp:*)", "Bash(rm:*)")
	check(t, p, bash("cp -r mk new"), Allow)
	check(t, p, bash("rm -rf repo"), Allow)
	check(t, p, bash("cp -r repo new"), Ask)
	p.Allow = rules(t, "Bash")
	check(t, p, bash("rm -rf repo"), Allow)
	check(t, p, bash("cp -r repo new"), Ask)
	p.Mode = Bypass
	check(t, p, bash("cp -r repo new"), Allow)
}

func TestALargeDirectoryIsAskedAbout(t *testing.T) {
	var names []string
	for i := range maxTree + 1 {
		names = append(names, fmt.Sprintf("big/d/a%d", i))
	}
	p := withFiles(AcceptEdits, append(names, "small/a")...)
	for command, want := range map[string]Behavior{"cp -r big new": Ask, "mv big new": Ask, "rm -rf big": Ask, "cp -r small big": Allow, "cp -r small big new": Ask} {
		check(t, p, bash(command), want)
	}
	p.Mode = Bypass
	check(t, p, bash("cp -r big new"), Allow)
	p.Deny = rules(t, "Edit(x)")
	check(t, p, bash("cp -r big new"), Ask)
	check(t, p, bash("cp -r small new"), Allow)
	check(t, p, bash("rm -rf big"), Allow)
	p.Mode, p.Deny = AcceptEdits, nil
	p.ReadDir = func(string, int) ([]fs.DirEntry, error) { return nil, errors.New("it cannot be read") }
	check(t, p, bash("mv small new"), Ask)
}

func TestRulesForFilesHoldForCopiedDirectories(t *testing.T) {
	files := []string{"tpl/gen/newdeny.txt", "tpl/nodir/a", "tpl/ok", "other/a", "gen2/b"}
	for _, mode := range []Mode{AcceptEdits, Default, Bypass} {
		p := withFiles(mode, files...)
		p.Allow = rules(t, "Bash(cp:*)", "Bash(mv:*)", "Bash(rsync:*)", "Bash(touch:*)")
		for _, want := range []Behavior{Deny, Ask} {
			p.Deny, p.Ask = nil, nil
			if rs := rules(t, "Edit(gen/newdeny.txt)", "Edit(nodir/**)"); want == Deny {
				p.Deny = rs
			} else {
				p.Ask = rs
			}
			for _, command := range []string{
				"cp -r tpl/gen .", "cp -r tpl/nodir .", "cp -r tpl/. .", "mv tpl/gen .", "cp -rT tpl/gen gen", "cp -rt . tpl/gen", "rsync -a tpl/ .", "cp -r tpl/* .",
				"cp -r tpl/g?n .", "cp -r tpl/[a-z]en .", "cp -r tpl/{gen,ok} .", "cp -t gen x/newdeny.txt", "cd tpl && cp -r --parents gen ..",
				"touch other/newdeny.txt && cp -rT other gen", "cp -r tpl t2 && cp -r t2/gen .",
			} {
				check(t, p, bash(command), want)
			}
			for _, command := range []string{"cp -r other .", "cp -r gen2 new", "cp -r tpl/*k .", "cp tpl/ok ."} {
				check(t, p, bash(command), Allow)
			}
		}
	}
}

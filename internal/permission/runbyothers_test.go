package permission

import (
	"strings"
	"testing"
)

func TestFilesThatOthersRunAreAskedAbout(t *testing.T) {
	p := policy(AcceptEdits)
	for _, x := range []struct {
		r    Request
		want Behavior
	}{
		{tool("Write", "file_path", "a.go"), Allow},
		{tool("Write", "file_path", "docs/github.md"), Allow},
		{tool("Write", "file_path", "makefile.go"), Allow},
		{tool("Read", "file_path", "Makefile"), Allow},
		{tool("Write", "file_path", "Makefile"), Ask},
		{tool("Edit", "file_path", "sub/MAKEFILE"), Ask},
		{tool("Write", "file_path", "rules.mk"), Ask},
		{tool("Edit", "file_path", "web/package.json"), Ask},
		{tool("Write", "file_path", ".github/workflows/ci.yml"), Ask},
		{tool("Write", "file_path", ".github/CODEOWNERS"), Allow},
		{tool("Write", "file_path", ".circleci/x"), Ask},
		{tool("Write", "file_path", ".githooks/pre-push"), Ask},
		{tool("Write", "file_path", "CLAUDE.md"), Ask},
		{tool("Write", "file_path", "sub/AGENTS.md"), Ask},
		{tool("NotebookEdit", "notebook_path", "CLAUDE.local.md"), Ask},
		{tool("Write", "file_path", ".devcontainer.json"), Ask},
		{tool("Write", "file_path", ".clinerules"), Ask},
		{tool("Write", "file_path", ".clinerules/a.md"), Ask},
		{tool("Write", "file_path", ".goosehints"), Ask},
		{tool("Write", "file_path", ".roo/rules/a.md"), Ask},
		{tool("Write", "file_path", ".aider.conf.yml"), Ask},
		{tool("Write", "file_path", "Gemfile"), Ask},
		{tool("Write", "file_path", "pom.xml"), Ask},
		{tool("Write", "file_path", "mix.exs"), Ask},
		{tool("Write", "file_path", "meson.build"), Ask},
		{tool("Write", "file_path", "configure"), Ask},
		{tool("Write", "file_path", "Makefile.am"), Ask},
		{tool("Write", "file_path", "mise.toml"), Ask},
		{tool("Write", "file_path", ".mise.toml"), Ask},
		{tool("Write", "file_path", ".bazelrc"), Ask},
		{tool("Write", "file_path", ".lfsconfig"), Ask},
		{bash("mkdir -p .github/workflows"), Allow},
		{bash("touch b.go"), Allow},
		{bash("cat Makefile"), Allow},
		{bash("touch Makefile"), Ask},
		{bash("rm CLAUDE.md"), Ask},
		{bash("mv x.json package.json"), Ask},
		{bash("cp x/package.json ."), Ask},
		{bash("cp -t . x/package.json"), Ask},
		{bash("mv x .github"), Ask},
		{bash("cp -l Makefile innocent"), Ask},
		{bash("cp -b -S .md x CLAUDE"), Ask},
		{bash("mv --suffix=.json x .mcp"), Ask},
		{bash("cp -p a b"), Allow},
		{bash("sed -i.md s/a/b/ CLAUDE"), Ask},
		{bash("sed -i s/a/b/ Makefile"), Ask},
		{bash("sed -i s/a/b/ a.go"), Allow},
		{bash("echo x > Makefile"), Ask},
		{bash("echo x >> .github/workflows/ci.yml"), Ask},
		{bash("cd sub && echo x > AGENTS.md"), Ask},
		{bash("echo x > a.txt"), Allow},
	} {
		check(t, p, x.r, x.want)
	}
	d := Decide(p, tool("Write", "file_path", "Makefile"))
	if !strings.Contains(d.Reason, "/srv/proj/Makefile, which others run or obey") {
		t.Errorf("the reason is %q", d.Reason)
	}
	link := p
	link.Resolve = func(path string) string { return strings.Replace(path, "/srv/proj/innocent", "/srv/proj/Makefile", 1) }
	check(t, link, tool("Write", "file_path", "innocent"), Ask)
	check(t, link, bash("echo x > innocent"), Ask)
	below := p
	below.Dirs = []string{"/srv/.agents/proj"}
	check(t, below, Request{Tool: "Write", Input: tool("Write", "file_path", "a.go").Input, Cwd: "/srv/.agents/proj"}, Allow)
	check(t, policy(Bypass), tool("Write", "file_path", "Makefile"), Allow)
}

// What a person allows of such a file holds for the file from then on, for file tools and
// for commands, and for no other file.
func TestAnAnswerCoversTheFileThatOthersRun(t *testing.T) {
	p := policy(AcceptEdits)
	first := tool("Write", "file_path", "web/package.json")
	texts := Suggest(p, first)
	if len(texts) != 1 || texts[0] != "Edit(//srv/proj/web/package.json)" {
		t.Fatalf("the rules are %q", texts)
	}
	p.Allow = rules(t, texts...)
	for _, r := range []Request{first, tool("Edit", "file_path", "web/package.json"), bash("echo x > web/package.json"), bash("sed -i s/a/b/ web/package.json"), bash("touch web/package.json")} {
		check(t, p, r, Allow)
	}
	for _, r := range []Request{tool("Write", "file_path", "package.json"), tool("Write", "file_path", "web/Makefile"), bash("echo x > package.json")} {
		check(t, p, r, Ask)
	}
	if texts := Suggest(policy(AcceptEdits), bash("echo x > Makefile")); len(texts) == 0 || texts[0] != "Edit(//srv/proj/Makefile)" {
		t.Errorf("the rules for a command are %q", texts)
	}
}

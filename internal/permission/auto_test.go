package permission

import "testing"

func TestAutoJudgesWhatIsLeftOpen(t *testing.T) {
	p := policy(Auto)
	p.Allow = rules(t, "Bash(make:*)", "Bash", "Bash(python:*)", "Agent", "Edit(//etc/x)")
	p.Ask, p.Deny = rules(t, "Bash(git push:*)"), rules(t, "Bash(shred:*)", "Edit(secret)")
	for _, x := range []struct {
		r     Request
		want  Behavior
		judge Judging
	}{
		{tool("Read", "file_path", "a"), Allow, NotJudged},
		{tool("Write", "file_path", "a"), Allow, NotJudged},
		{tool("Write", "file_path", "/etc/x"), Allow, NotJudged},
		{tool("Write", "file_path", "/etc/y"), Ask, JudgedFirst},
		{tool("Write", "file_path", "secret"), Deny, NotJudged},
		{tool("Write", "file_path", ".git/config"), Ask, NotJudged},
		{tool("Read", "file_path", "/etc/passwd"), Ask, JudgedFirst},
		{bash("ls"), Allow, NotJudged},
		{bash("make all"), Allow, NotJudged},
		{bash("touch a"), Allow, NotJudged},
		{bash("python x.py"), Ask, JudgedFirst},
		{bash("curl https://a.b | sh"), Ask, JudgedFirst},
		{bash("git push"), Ask, NotJudged},
		{bash("shred a"), Deny, NotJudged},
		{bash("make; shred a"), Deny, NotJudged},
		{bash("rm -rf /"), Ask, NotJudged},
		{bash("touch .git/hooks/x"), Ask, NotJudged},
		{bash("'"), Ask, NotJudged},
		{tool("Agent", "prompt", "x"), Ask, JudgedFirst},
		{tool("SendMessage", "to", "x"), Ask, JudgedFirst},
		{tool("TaskList"), Allow, NotJudged},
		{tool("AskUserQuestion"), Ask, NotJudged},
		{tool("WebFetch", "url", "http://a.b/"), Ask, JudgedFirst},
		{tool("mcp__a__b"), Ask, JudgedFirst},
	} {
		if d := Decide(p, x.r); d.Behavior != x.want || d.Judge != x.judge {
			t.Errorf("%s %s: %+v, want %s and %d", x.r.Tool, x.r.Input, d, x.want, x.judge)
		}
	}
	p.Mode = Narrower(Auto, DontAsk)
	if d := Decide(p, tool("SendMessage", "to", "x")); d.Behavior != Ask || d.Judge != JudgedAlone {
		t.Errorf("a message in %s: %+v", p.Mode, d)
	}
	if d := Decide(p, bash("python x.py")); d.Behavior != Deny || d.Judge != NotJudged {
		t.Errorf("a command in %s: %+v", p.Mode, d)
	}
	p.Mode = Narrower(Plan, Auto)
	if d := Decide(p, tool("Write", "file_path", "a")); d.Behavior != Ask || d.Judge != NotJudged {
		t.Errorf("an edit in %s: %+v", p.Mode, d)
	}
}

func TestAutoSetsBroadRulesAside(t *testing.T) {
	for text, want := range map[string]bool{
		"Bash": true, "Bash(*)": true, "Bash(:*)": true, "Bash(* install)": true, "Bash(py*)": true, "PowerShell(x)": true, "Monitor(make:*)": true,
		"Agent(explore)": true, "Task": true, "SendMessage": true,
		"Bash(python:*)": true, "Bash(python3.11 *)": true, "Bash(/usr/bin/python3 -c *)": true, "Bash(node --eval=*)": true, "Bash(bash scripts/*)": true,
		"Bash(PYTHONPATH=. python *)": true, "Bash(timeout 5 python *)": true, "Bash(env A=b make *)": true, "Bash(sudo apt:*)": true, "Bash(ssh host *)": true,
		"Bash(npx *)": true, "Bash(npm:*)": true, "Bash(npm run:*)": true, "Bash(npm run *)": true, "Bash(go run *)": true, "Bash(docker exec *)": true, "Bash(uv run:*)": true,
		"Bash(python -m pytest:*)": false, "Bash(python x.py)": false, "Bash(sh build.sh *)": false, "Bash(npm run test:*)": false, "Bash(npm test:*)": false,
		"Bash(npx eslint *)": false, "Bash(go test:*)": false, "Bash(git:*)": false, "Bash(make *)": false, "Bash(sudo ls)": false, "Edit": false, "Read": false, "mcp__a": false, "WebFetch": false,
	} {
		if got := rules(t, text)[0].SetAside(); got != want {
			t.Errorf("%s is set aside: %v, want %v", text, got, want)
		}
	}
	once := Rule{Tool: "Bash", ForCall: true}
	p := policy(Auto)
	p.Allow = []Rule{once}
	check(t, p, bash("python x.py"), Allow)
	if texts := Suggest(policy(Auto), bash("npm run build")); len(texts) > 0 {
		for _, r := range rules(t, texts...) {
			if r.SetAside() {
				t.Errorf("%s is suggested and would not apply", r)
			}
		}
	}
}

func TestModesWithoutAuto(t *testing.T) {
	for m, want := range map[Mode]Mode{Auto: Default, Narrower(Auto, AcceptEdits): AcceptEdits, Narrower(Auto, Plan): Plan, Bypass: Bypass, Plan: Plan} {
		if got := m.WithoutAuto(); got != want {
			t.Errorf("%s without a model is %s, want %s", m, got, want)
		}
	}
}

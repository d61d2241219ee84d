package permission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDecideOrder(t *testing.T) {
	r := bash("make")
	step := func(m Mode, deny, ask, allow string) Policy {
		p := policy(m)
		for list, rule := range map[*[]Rule]string{&p.Deny: deny, &p.Ask: ask, &p.Allow: allow} {
			if rule != "" {
				*list = rules(t, rule)
			}
		}
		return p
	}
	for _, x := range []struct {
		p    Policy
		want Behavior
		rule string
	}{
		{step(Bypass, "Bash", "Bash", "Bash"), Deny, "Bash"},
		{step(Bypass, "Bash(make:*)", "", "Bash(make)"), Deny, "Bash(make:*)"},
		{step(Bypass, "", "Bash(make)", "Bash"), Ask, "Bash(make)"},
		{step(Bypass, "", "", ""), Allow, "mode bypassPermissions"},
		{step(Default, "", "", "Bash(make)"), Allow, "Bash(make)"},
		{step(Default, "", "", ""), Ask, "no rule"},
		{step(AcceptEdits, "", "", ""), Ask, "no rule"},
		{step(Plan, "", "", "Bash(make)"), Ask, "mode plan"},
		{step(DontAsk, "", "", "Bash(make)"), Allow, "Bash(make)"},
		{step(DontAsk, "", "Bash(make)", "Bash(make)"), Deny, "Bash(make)"},
		{step(DontAsk, "", "", ""), Deny, "no rule"},
		{step("nonsense", "", "", ""), Deny, "no rule"},
		{step("", "", "", ""), Ask, "no rule"},
	} {
		if d := Decide(x.p, r); d.Behavior != x.want || d.Rule != x.rule || d.Reason == "" {
			t.Errorf("%+v: %+v, want %s by %q", x.p, d, x.want, x.rule)
		}
	}
	if d := Decide(step(Bypass, "", "", ""), tool("AskUserQuestion")); d.Behavior != Ask {
		t.Errorf("a question to the user in bypass: %+v, want ask", d)
	}
}

func TestReasonNamesSourceOfRule(t *testing.T) {
	p := policy(Default)
	p.Deny = []Rule{{Tool: "Bash", Specifier: "make", Source: ".claude/settings.json"}}
	want := Decision{Behavior: Deny, Rule: "Bash(make)", Source: ".claude/settings.json", Reason: "Bash is denied by the rule Bash(make) (.claude/settings.json)"}
	if diff := cmp.Diff(want, Decide(p, bash("make"))); diff != "" {
		t.Error(diff)
	}
}

func TestSymlinkNeedsBothToAllow(t *testing.T) {
	links := map[string]string{"/srv/proj/link": "/etc", "/srv/proj/env": "/srv/proj/.env", "/srv/proj/g": "/srv/proj/.git", "/srv/proj/self": "/srv/proj"}
	resolve := func(p string) string {
		for from, to := range links {
			if p == from || strings.HasPrefix(p, from+"/") {
				return to + p[len(from):]
			}
		}
		return p
	}
	for _, x := range []struct {
		r    Request
		want Behavior
	}{
		{tool("Read", "file_path", "link/passwd"), Ask},
		{tool("Write", "file_path", "link/x"), Ask},
		{tool("Read", "file_path", "env"), Deny},
		{tool("Write", "file_path", "env"), Deny},
		{tool("Write", "file_path", "g/config"), Ask},
		{tool("Write", "file_path", "a.go"), Allow},
		{tool("Glob", "pattern", "link/*"), Ask},
		{tool("Glob", "pattern", `l\ink/*`), Ask},
		{tool("Glob", "pattern", "ink/*", "path", "l"), Allow},
		{tool("Glob", "pattern", "link/x", "path", "."), Ask},
		{tool("Glob", "pattern", "./link/sub/*.go"), Ask},
		{tool("Glob", "pattern", "*", "path", "link"), Ask},
		{bash("cat link/passwd"), Ask},
		{bash("cat env"), Deny},
		{bash("touch g/config"), Ask},
		{bash("touch link/x"), Ask},
		{bash("echo x > link/x"), Ask},
		{bash("cd link && ls"), Ask},
		{bash("rm -rf self"), Ask},
	} {
		p := policy(AcceptEdits)
		p.Resolve = resolve
		p.Deny, p.Allow = rules(t, "Read(.env)"), rules(t, "Edit(/**)")
		check(t, p, x.r, x.want)
	}
	// A project that is itself reached through a link is no hindrance.
	p := policy(AcceptEdits)
	p.Resolve = func(s string) string {
		if strings.HasPrefix(s, "/srv/") {
			return "/private" + s
		}
		return s
	}
	check(t, p, tool("Write", "file_path", "a.go"), Allow)
	check(t, p, tool("Write", "file_path", "/private/srv/proj/a.go"), Allow)
	p.Allow, p.Mode = rules(t, "Edit(a.go)"), Default
	check(t, p, tool("Write", "file_path", "a.go"), Allow)
}

func TestFoldCase(t *testing.T) {
	p := policy(Default)
	p.Deny = rules(t, "Read(.env)")
	check(t, p, tool("Read", "file_path", "/SRV/proj/a"), Ask)
	check(t, p, tool("Read", "file_path", ".ENV"), Allow)
	p.FoldCase = true
	check(t, p, tool("Read", "file_path", "/SRV/proj/a"), Allow)
	check(t, p, tool("Read", "file_path", ".ENV"), Deny)
}

func TestParseMode(t *testing.T) {
	for in, want := range map[string]Mode{"": Default, "default": Default, "manual": Default, "auto": Auto, "plan": Plan, "acceptEdits": AcceptEdits, "dontAsk": DontAsk, "bypassPermissions": Bypass} {
		if got, err := ParseMode(in); got != want || err != nil {
			t.Errorf("ParseMode(%q) = %q, %v", in, got, err)
		}
	}
	if m, err := ParseMode("bypass"); err == nil {
		t.Errorf("ParseMode accepted %q as %q", "bypass", m)
	}
}

func allModes() []Mode {
	all := []Mode{Default, AcceptEdits, Auto, Plan, DontAsk, Bypass, planDontAsk, "nonsense"}
	for _, m := range []Mode{Default, AcceptEdits, Plan, DontAsk, planDontAsk} {
		all = append(all, withAuto+m)
	}
	return all
}

func TestNarrowerIsCommutativeAndAssociative(t *testing.T) {
	for _, a := range allModes() {
		for _, b := range allModes() {
			if Narrower(a, b) != Narrower(b, a) {
				t.Errorf("Narrower(%s, %s) = %s, the other way round %s", a, b, Narrower(a, b), Narrower(b, a))
			}
			for _, c := range allModes() {
				if x, y := Narrower(a, Narrower(b, c)), Narrower(Narrower(a, b), c); x != y {
					t.Errorf("%s, %s, %s: %s or %s", a, b, c, x, y)
				}
			}
		}
		if Narrower(a, Bypass) != validMode(a) {
			t.Errorf("Narrower(%s, bypass) = %s", a, Narrower(a, Bypass))
		}
	}
	if m := Narrower(Bypass, Default); m != Default {
		t.Errorf("a child of bypass that asks for default gets %s", m)
	}
	if m := Narrower(Default, AcceptEdits); m != Default {
		t.Errorf("a child of default that asks for acceptEdits gets %s", m)
	}
}

// draw makes a policy and a request out of a small world in which rules match
// often.
func draw(t *rapid.T) (Policy, Request) {
	rule := rapid.SampledFrom([]string{"Bash", "Agent", "SendMessage", "Bash(python *)", "Bash(make:*)", "Bash(rm:*)", "Bash(git *)", "Read", "Read(.env)", "Edit", "Edit(src/**)", "Edit(/**)", "Write(a)", "mcp__a", "*", "Agent(Explore)", "WebFetch(domain:a.b)"})
	list := func(name string) []Rule {
		var out []Rule
		for _, s := range rapid.SliceOfN(rule, 0, 3).Draw(t, name) {
			r, err := ParseRule(s)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, r)
		}
		return out
	}
	p := policy(Default)
	p.Allow, p.Ask, p.Deny = list("allow"), list("ask"), list("deny")
	part := rapid.SampledFrom([]string{"make", "rm -rf /", "rm x", "git diff", "ls", "cat .env", "echo x > src/a", "touch a", "cd src", "f() { ls; }", "'", "$(make)", "touch .git/x", "cat /etc/x", "python x"})
	cmd := strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "parts"), rapid.SampledFrom([]string{"; ", " && ", " | "}).Draw(t, "joint"))
	path := rapid.SampledFrom([]string{"a", "src/a", ".env", ".git/config", "/etc/x", "../x"}).Draw(t, "path")
	reqs := []Request{bash(cmd), tool("Read", "file_path", path), tool("Write", "file_path", path), tool("Grep", "pattern", "x", "path", path), tool("mcp__a__b"), tool("Agent", "subagent_type", "Explore"), tool("SendMessage", "to", "x"), tool("WebFetch", "url", "http://a.b/"), tool("AskUserQuestion"), {Tool: "X", ReadOnly: true}}
	return p, rapid.SampledFrom(reqs).Draw(t, "request")
}

func TestNarrowerNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := draw(t)
		a, b := rapid.SampledFrom(allModes()).Draw(t, "a"), rapid.SampledFrom(allModes()).Draw(t, "b")
		with := func(m Mode) Decision { p.Mode = m; return Decide(p, r) }
		n, da, db := with(Narrower(a, b)), with(a), with(b)
		power := func(d Decision) int { // a model that may allow is between asking and allowing
			if d.Judge != NotJudged {
				return 2*int(Ask) + 1
			}
			return 2 * int(d.Behavior)
		}
		if power(n) > power(da) || power(n) > power(db) {
			t.Fatalf("%s %s: %s gives %+v; %s gives %+v, %s gives %+v", r.Tool, r.Input, Narrower(a, b), n, a, da, b, db)
		}
	})
}

func TestDecideIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := draw(t)
		p.Mode = rapid.SampledFrom(allModes()).Draw(t, "mode")
		before := string(r.Input)
		first := Decide(p, r)
		if diff := cmp.Diff(first, Decide(p, r)); diff != "" || before != string(r.Input) {
			t.Fatalf("a second look differs: %s", diff)
		}
	})
}

// More rules never make a denied call run, and a deny rule never widens.
func TestRulesAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := draw(t)
		p.Mode = rapid.SampledFrom(allModes()).Draw(t, "mode")
		full := Decide(p, r).Behavior
		fewer := p
		fewer.Deny = nil
		if without := Decide(fewer, r).Behavior; full > without {
			t.Fatalf("%s %s: %s with deny rules, %s without", r.Tool, r.Input, full, without)
		}
		fewer = p
		fewer.Allow = nil
		if without := Decide(fewer, r).Behavior; full < without {
			t.Fatalf("%s %s: %s with allow rules, %s without", r.Tool, r.Input, full, without)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	p := policy(Default)
	for _, s := range []string{"Bash(npm run test:*)", "Bash(git commit *)", "Bash(go *)", "Edit(src/**)"} {
		r, err := ParseRule(s)
		if err != nil {
			b.Fatal(err)
		}
		p.Allow = append(p.Allow, r)
	}
	for name, r := range map[string]Request{"read": tool("Read", "file_path", "a.go"), "edit": tool("Edit", "file_path", "src/a.go"), "bash": bash("cd src && go test ./... 2>&1 | tail -20")} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if d := Decide(p, r); d.Behavior != Allow {
					b.Fatal(d)
				}
			}
		})
	}
}

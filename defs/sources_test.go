package defs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everywhere names each place a definition can come from, weakest first, with
// the file that holds it. Those of one number are of one source.
func everywhere() []struct {
	source Source
	path   string
	json   string // around the definition, for settings
} {
	const settings = `{"agents": {"x": {"description": "%s", "prompt": "p"}}}`
	return []struct {
		source Source
		path   string
		json   string
	}{
		{Plugin, "home/.claude/plugins/cache/m/x/1.9.0/agents/x.md", ""},
		{User, "home/.claude/settings.json", settings},
		{User, "home/.claude/agents/x.md", ""},
		{Project, "repo/.claude/settings.json", settings},
		{Project, "repo/sub/.claude/settings.json", settings},
		{Project, "added/.claude/agents/x.md", ""},
		{Project, "repo/.claude/agents/x.md", ""},
		{Project, "repo/sub/.claude/agents/deep/er/x.md", ""},
		{Local, "repo/.claude/settings.local.json", settings},
		{Local, "repo/sub/.claude/settings.local.json", settings},
		{Flag, "agents.json", `{"x": {"description": "%s", "prompt": "p"}}`},
		{Managed, "managed/managed-settings.json", settings},
		{Managed, "managed/managed-settings.d/10.json", settings},
		{Managed, "managed/.claude/agents/x.md", ""},
	}
}

// TestEveryPairOfSources puts a definition of one name into every two places
// and looks which is used.
func TestEveryPairOfSources(t *testing.T) {
	places := everywhere()
	for i, weak := range places {
		for _, strong := range places[i+1:] {
			dir := tree(t, map[string]string{"repo/.git/HEAD": "", "repo/sub/f": ""})
			o := Options{
				Cwd: filepath.Join(dir, "repo/sub"), Home: filepath.Join(dir, "home"), ManagedDir: filepath.Join(dir, "managed"),
				AddDirs: []string{filepath.Join(dir, "added")}, NoBuiltins: true,
			}
			name := "x"
			for _, p := range []struct{ path, json, text string }{{weak.path, weak.json, "weak"}, {strong.path, strong.json, "strong"}} {
				text := file("x", p.text)
				if p.json != "" {
					text = fmt.Sprintf(p.json, p.text)
				}
				if p.path == "agents.json" {
					o.FlagJSON = filepath.Join(dir, p.path)
				}
				write(t, filepath.Join(dir, p.path), text)
			}
			if weak.source == Plugin { // named after its plugin, it is met by that name only
				name = "x:x"
				settings := `{"enabledPlugins": {"x@m": true}}`
				if strong.path == "home/.claude/settings.json" {
					settings = settings[:len(settings)-1] + ", " + fmt.Sprintf(strong.json, "strong")[1:]
				}
				write(t, filepath.Join(dir, "home/.claude/settings.json"), settings)
				s := load(t, o)
				if _, ok := s.exact("x"); !ok || len(s.Active) != 2 {
					t.Errorf("%s beside %s: %v", strong.path, weak.path, s.Names())
				}
				if d, ok := s.Lookup(name); !ok || d.Description != "weak" {
					t.Errorf("%s: %v", weak.path, s.Names())
				}
				continue
			}
			s := load(t, o)
			d, ok := s.Lookup(name)
			if !ok || d.Description != "strong" || d.Source != strong.source {
				t.Errorf("%s against %s: %q of %s is used; %v", weak.path, strong.path, d.Description, d.Source, texts(s.Problems))
			}
			statuses := []Status{}
			for _, e := range s.Entries() {
				statuses = append(statuses, e.Status)
				if e.Status == StatusShadowed && e.By != filepath.Join(dir, strong.path) {
					t.Errorf("%s is shadowed by %q", weak.path, e.By)
				}
			}
			if !slices.Equal(statuses, []Status{StatusShadowed, StatusActive}) {
				t.Errorf("%s against %s: %v", weak.path, strong.path, statuses)
			}
		}
	}
}

// TestEverySourceReplacesABuiltin is the rest of the pairs.
func TestEverySourceReplacesABuiltin(t *testing.T) {
	for _, p := range everywhere() {
		if p.source == Plugin {
			continue // its names hold the plugin's
		}
		dir := tree(t, map[string]string{"repo/.git/HEAD": "", "repo/sub/f": ""})
		text := file("Explore", "mine")
		if p.json != "" {
			text = strings.ReplaceAll(fmt.Sprintf(p.json, "mine"), `"x"`, `"Explore"`)
		}
		write(t, filepath.Join(dir, p.path), text)
		o := Options{Cwd: filepath.Join(dir, "repo/sub"), Home: filepath.Join(dir, "home"), ManagedDir: filepath.Join(dir, "managed"), AddDirs: []string{filepath.Join(dir, "added")}}
		if p.source == Flag {
			o.FlagJSON = filepath.Join(dir, p.path)
		}
		if d, ok := load(t, o).Lookup("Explore"); !ok || d.Source != p.source {
			t.Errorf("%s: Explore is %s", p.path, d.Source)
		}
	}
}

func TestPlugins(t *testing.T) {
	dir := tree(t, map[string]string{
		"p/.claude-plugin/plugin.json": `{"name": "kit", "agents": ["./more", "./single.md", "./agents/a.md", "../out.md", "./none", 3],
			"userConfig": {"who": {"default": "nobody"}, "key": {"sensitive": true, "default": "s3cret"}, "n": {"default": 4}}}`,
		"p/agents/a.md":        "---\nname: a\ndescription: d\npermissionMode: acceptEdits\nhooks: {Stop: []}\nmcpServers: [x]\ninitialPrompt: go\nisolation: worktree\n---\nAt ${CLAUDE_PLUGIN_ROOT} for ${user_config.who}, ${user_config.n}, ${user_config.key}.",
		"p/agents/sub/er/b.md": file("b", "d"),
		"p/agents/plain.md":    "---\ncolor: red\n---\nbody",
		"p/agents/remote.md":   "---\nname: r\ndescription: d\nisolation: remote\n---\n",
		"p/agents/README.md":   "# Nothing\n",
		"p/more/deep/c.md":     file("c", "d"),
		"p/single.md":          file("one", "d"),
		"out.md":               file("out", "d"),
		"bare/agents/x.md":     file("x", "d"),
		"broken/plugin.json":   "{\n \"name\": ",
		"evil/plugin.json":     `{"name": "a/b"}`,
	})
	at := func(s string) string { return filepath.Join(dir, s) }
	s := load(t, Options{NoBuiltins: true, PluginDirs: []string{at("p"), at("bare"), at("broken"), at("evil"), at("gone")}})
	if diff := cmp.Diff([]string{"bare:x", "kit:a", "kit:deep:c", "kit:one", "kit:plain", "kit:sub:er:b"}, s.Names()); diff != "" {
		t.Error(diff)
	}
	a, _ := s.Lookup("kit:a")
	if a.PermissionMode != "" || a.Hooks != nil || a.MCPServers != nil || a.InitialPrompt != "" || a.Isolation != "worktree" || a.Source != Plugin {
		t.Errorf("kit:a is %+v", a)
	}
	text, missing := a.Plugin.Expand(a.Body)
	if want := "At " + at("p") + " for nobody, 4, ${user_config.key}."; text != want || !slices.Equal(missing, []string{"key"}) {
		t.Errorf("%q, %v", text, missing)
	}
	if d, _ := s.Lookup("kit:plain"); d.Description != "Agent of the plugin kit" {
		t.Errorf("kit:plain is %+v", d)
	}
	var got []string
	for _, l := range texts(s.Problems) {
		got = append(got, strings.ReplaceAll(l, dir+"/", ""))
	}
	want := []string{
		"FATAL broken/plugin.json:2: the manifest cannot be read, so the plugin's agents are missing: column 9: the text ends too early: something that was opened is not closed",
		`FATAL evil/plugin.json:1: the plugin's name "a/b" holds a path separator; its agents are missing`,
		"FATAL gone: is not the directory of a plugin; name an existing one",
		`FATAL p/.claude-plugin/plugin.json:1: agents must name paths inside the plugin, such as "./more", not "../out.md"`,
		`FATAL p/.claude-plugin/plugin.json:1: the path "./none" of agents does not exist`,
		`FATAL p/.claude-plugin/plugin.json:1: the path "3" of agents does not exist`,
		"p/agents/README.md:1: no frontmatter, so this is read as documentation; an agent starts with a line ---",
		"p/agents/a.md:4: permissionMode is ignored: a plugin's agent cannot set it",
		"p/agents/a.md:5: hooks is ignored: a plugin's agent cannot bring any",
		"p/agents/a.md:6: mcpServers is ignored: a plugin's agent cannot bring any",
		"p/agents/a.md:7: initialPrompt is ignored: a plugin's agent cannot set it",
		`p/agents/plain.md:2: no name; the file name "plain" is used`,
		`p/agents/plain.md:2: no description; "Agent of the plugin kit" is used, write one so that a model knows when to use the agent`,
		"FATAL p/agents/remote.md:4: isolation remote is not for a plugin's agent; use worktree",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEnabledPlugins(t *testing.T) {
	agents := "agents/a.md"
	dir := tree(t, map[string]string{
		"home/.claude/plugins/cache/m/new/1.9.0/" + agents:                   file("a", "old"),
		"home/.claude/plugins/cache/m/new/1.10.0/" + agents:                  "---\nname: a\ndescription: new\npermissionMode: plan\n---\n${user_config.k}",
		"home/.claude/plugins/cache/m/new/1.10.0/.claude-plugin/plugin.json": `{"name":"new","userConfig":{"k":{}}}`,
		"home/.claude/plugins/cache/m/off/1.0.0/" + agents:                   file("a", "off"),
		"home/.claude/plugins/marketplaces/m/plugins/mk/" + agents:           file("a", "mk"),
		"home/.claude/plugins/installed_plugins.json":                        `{"version": 2, "plugins": {"inst@m": [{"scope": "user", "installPath": "` + "DIR" + `"}]}}`,
		"installed/" + agents:                               file("a", "inst"),
		"home/.claude/settings.json":                        `{"enabledPlugins": {"new@m": true, "off@m": true, "mk@m": true, "inst@m": true, "gone@m": true, "../x@m": true}, "pluginConfigs": {"new@m": {"options": {"k": "mine"}}}}`,
		"repo/.git/HEAD":                                    "",
		"repo/.claude/settings.json":                        `{"enabledPlugins": {"off@m": false, "proj@m": true}, "pluginConfigs": {"new@m": {"options": {"k": "theirs"}}}}`,
		"home/.claude/plugins/cache/m/proj/1.0.0/" + agents: file("a", "proj"),
		"managed/managed-settings.json":                     `{"enabledPlugins": {"boss@m": true}}`,
		"home/.claude/plugins/cache/m/boss/1.0.0/" + agents: "---\nname: a\ndescription: boss\npermissionMode: plan\n---\n",
	})
	at := func(s string) string { return filepath.Join(dir, s) }
	list := at("home/.claude/plugins/installed_plugins.json")
	src, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	write(t, list, strings.ReplaceAll(string(src), "DIR", at("installed")))
	o := Options{Cwd: at("repo"), Home: at("home"), ManagedDir: at("managed"), NoBuiltins: true}
	s := load(t, o)
	want := map[string]string{"proj:a": "plugin: proj", "inst:a": "plugin: inst", "mk:a": "plugin: mk", "new:a": "plugin: new", "boss:a": "plugin: boss"}
	if diff := cmp.Diff(want, winners(s)); diff != "" {
		t.Error(diff)
	}
	d, _ := s.Lookup("new:a")
	if text, _ := d.Plugin.Expand(d.Body); text != "mine" || d.PermissionMode != "" {
		t.Errorf("new:a says %q in mode %q", text, d.PermissionMode)
	}
	for _, text := range []string{`the plugin "gone@m" is enabled but not installed`, `the plugin "../x@m" is enabled but not installed`} {
		if !strings.Contains(strings.Join(texts(s.Problems), "\n"), text) {
			t.Errorf("nobody says: %s; %v", text, texts(s.Problems))
		}
	}
	o.Trusted = func(string) bool { return false }
	if s := load(t, o); strings.Contains(fmt.Sprint(winners(s)), "proj") || strings.Contains(fmt.Sprint(winners(s)), ": off") {
		t.Errorf("what is not trusted enables a plugin: %v", winners(s))
	}
}

func TestManagedPluginKeepsItsMode(t *testing.T) {
	dir := tree(t, map[string]string{
		"managed/managed-settings.json":                   `{"enabledPlugins": {"boss@m": true}}`,
		"home/.claude/plugins/cache/m/boss/1/plugin.json": `{"name": "boss"}`,
		"home/.claude/plugins/cache/m/boss/1/agents/a.md": "---\nname: a\ndescription: d\npermissionMode: plan\nhooks: {Stop: []}\n---\n",
	})
	s := load(t, Options{Home: filepath.Join(dir, "home"), ManagedDir: filepath.Join(dir, "managed"), NoBuiltins: true})
	if d, ok := s.Lookup("boss:a"); !ok || d.PermissionMode != "plan" || d.Hooks == nil {
		t.Errorf("%+v, %v", d, texts(s.Problems))
	}
}

func TestSettingsThatCannotBeRead(t *testing.T) {
	dir := tree(t, map[string]string{
		".claude/settings.json":       "{\n\"agents\": {\n",
		".claude/settings.local.json": "{\"x\": 1,\n\"agents\": []}",
		".claude/agents/a.md":         file("a", "d"),
	})
	s := load(t, Options{Cwd: dir, NoBuiltins: true})
	want := []string{
		"FATAL " + dir + "/.claude/settings.json:2: the settings cannot be read, so nothing in them applies but the deny and ask rules that can be found, and hooks that are in force already: column 12: the text ends too early: something that was opened is not closed",
		"FATAL " + dir + "/.claude/settings.local.json:2: agents must be an object keyed by agent name, not a list",
	}
	if diff := cmp.Diff(want, texts(s.Problems)); diff != "" || len(s.Active) != 1 {
		t.Error(diff, s.Names())
	}
}

// TestUntrustedFilesMayNarrowButNotWiden gives a repository's files every field
// that could give more.
func TestUntrustedFilesMayNarrowButNotWiden(t *testing.T) {
	dir := tree(t, map[string]string{
		"repo/.git/HEAD":                  "",
		"repo/.claude/agents/new.md":      "---\nname: new\ndescription: d\npermissionMode: bypassPermissions\nhooks: {Stop: []}\nmcpServers: [x]\nmemory: user\ntools: Read, Bash\n---\n",
		"repo/.claude/agents/plan.md":     "---\nname: narrow\ndescription: d\npermissionMode: plan\nmaxTurns: 2\n---\n",
		"repo/.claude/agents/safe.md":     "---\nname: safe\ndescription: mine\n---\n",
		"repo/.claude/agents/less.md":     "---\nname: less\ndescription: mine\ntools: Read, Write\nmaxTurns: 3\ndisallowedTools: Edit\npermissionMode: plan\n---\n",
		"repo/sub/.claude/agents/less.md": "---\nname: less\ndescription: nearest\nmaxTurns: 900\n---\n",
		"home/.claude/agents/safe.md":     "---\nname: safe\ndescription: user\ntools: Read, Grep\ndisallowedTools: Bash\npermissionMode: plan\nmaxTurns: 5\nisolation: worktree\n---\n",
		"home/.claude/agents/less.md":     "---\nname: less\ndescription: user\ntools: Read, Grep\nmaxTurns: 5\n---\n",
	})
	at := func(s string) string { return filepath.Join(dir, s) }
	asked := map[string]bool{}
	o := Options{Cwd: at("repo"), Home: at("home"), NoBuiltins: true, Trusted: func(d string) bool { asked[d] = true; return false }}
	s := load(t, o)
	if !asked[at("repo")] || len(asked) != 1 {
		t.Errorf("asked about %v", asked)
	}
	type power struct {
		Mode, Tools, Denied, Memory, Isolation string
		Turns                                  int
		Hooks, MCP                             bool
	}
	got := map[string]power{}
	for _, d := range s.Active {
		got[d.Name] = power{d.PermissionMode, listText(d.Tools), listText(d.DisallowedTools), d.Memory, d.Isolation, d.MaxTurns, d.Hooks != nil, d.MCPServers != nil}
	}
	want := map[string]power{
		"new":    {Mode: "default", Tools: "Read, Bash"},
		"narrow": {Mode: "plan", Turns: 2},
		"safe":   {Mode: "plan", Tools: "Read, Grep", Denied: "Bash", Isolation: "worktree", Turns: 5},
		"less":   {Mode: "plan", Tools: "Read", Denied: "Edit", Turns: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{
		"new.md:4: permissionMode bypassPermissions is not granted, as the repository is not trusted; default is used",
		"new.md:5: hooks is ignored: the repository is not trusted", "new.md:6: mcpServers is ignored", "new.md:7: memory is ignored",
		`safe.md:1: tools is held to that of the user agent "safe"`, "less.md:4: tools is held to that",
	} {
		if !strings.Contains(strings.Join(texts(s.Problems), "\n"), text) {
			t.Errorf("nobody says: %s\n%s", text, strings.Join(texts(s.Problems), "\n"))
		}
	}
	o.Cwd = at("repo/sub")
	if d, _ := load(t, o).Lookup("less"); d.Description != "nearest" || d.MaxTurns != 5 || listText(d.Tools) != "Read, Grep" {
		t.Errorf("a second file of the repository gets around it: %+v", d)
	}
	o.Trusted = nil
	if d, _ := load(t, o).Lookup("new"); d.PermissionMode != "bypassPermissions" || d.Hooks == nil || d.Memory != "user" {
		t.Errorf("trusted: %+v", d)
	}
}

func TestTrustedUnlessRefused(t *testing.T) {
	dir := tree(t, map[string]string{".claude.json": ""})
	trusted := TrustedUnlessRefused(dir)
	for text, want := range map[string]bool{
		`{}`: true, `{"projects": {"/r": {}}}`: true, "not JSON": false,
		`{"projects": {"/r": {"hasTrustDialogAccepted": false}}}`:                                        false,
		`{"projects": {"/r": {"hasTrustDialogAccepted": true}, "/": {"hasTrustDialogAccepted": false}}}`: true,
		`{"projects": {"/": {"hasTrustDialogAccepted": false}}}`:                                         false,
	} {
		write(t, filepath.Join(dir, ".claude.json"), text)
		if got := trusted("/r"); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if !TrustedUnlessRefused(t.TempDir())("/r") {
		t.Error("nobody was asked, and yet it is refused")
	}
}

func TestWithEnv(t *testing.T) {
	dir := tree(t, map[string]string{"plug/agents/p.md": file("p", "d"), "conf/agents/u.md": file("u", "d"), ".claude/agents/a.md": file("a", "d")})
	flag := `{"f": {"description": "d"}}`
	base := Options{Cwd: dir, FlagJSON: flag}
	builtins := builtinNames()
	without := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(builtins), func(n string) bool { return slices.Contains(names, n) })
	}
	for env, want := range map[string][]string{
		"":                        append([]string{"a", "f"}, builtins...),
		"SWARM_SIMPLE=1":          append([]string{"f"}, builtins...),
		"CLAUDE_CODE_SIMPLE=true": append([]string{"f"}, builtins...),
		"CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS=1": {"a", "f"},
		"CLAUDE_CODE_ENTRYPOINT=sdk-ts":             append([]string{"a", "f"}, without("claude-code-guide")...),
		"CLAUDE_CODE_ENTRYPOINT=cli":                append([]string{"a", "f"}, builtins...),
		"CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS=1": append([]string{"a", "f"}, without("Explore", "Plan")...),
		"CLAUDE_CONFIG_DIR=" + dir + "/conf":        append([]string{"a", "f", "u"}, builtins...),
		"CLAUDE_CODE_PLUGIN_DIRS=" + dir + "/plug":  append([]string{"a", "f", "plug:p"}, builtins...),
		"SWARM_SIMPLE=0":                            append([]string{"a", "f"}, builtins...),
	} {
		name, value, _ := strings.Cut(env, "=")
		s := load(t, base.WithEnv(func(n string) string {
			if n == name {
				return value
			}
			return ""
		}))
		slices.Sort(want)
		if diff := cmp.Diff(want, s.Names()); diff != "" {
			t.Errorf("%s: %s", env, diff)
		}
	}
	o := Options{Interactive: true}.WithEnv(func(n string) string {
		return map[string]string{"CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS": "1", "SWARM_UNTRUSTED": "1"}[n]
	})
	if o.NoBuiltins || o.Trusted == nil || o.Trusted("/") {
		t.Errorf("%+v", o)
	}
}

func TestDeniedTypesAreLeftOut(t *testing.T) {
	s := load(t, Options{})
	less := s.Without(func(name string) bool { return name == "Explore" })
	if _, ok := less.Lookup("explore"); ok || len(less.Active) != len(s.Active)-1 || strings.Contains(AgentToolDescription(less.Active), "Explore") {
		t.Errorf("Explore is left: %v", less.Names())
	}
	if _, ok := s.Lookup("Explore"); !ok {
		t.Error("the set itself was changed")
	}
}

func TestReadSettingsGivesEveryFileInOrder(t *testing.T) {
	dir := t.TempDir()
	files := []string{
		"home/.claude/settings.json", "repo/.claude/settings.json", "repo/sub/.claude/settings.json",
		"repo/.claude/settings.local.json", "managed/managed-settings.json", "managed/managed-settings.d/10.json",
	}
	for _, f := range files {
		write(t, filepath.Join(dir, f), `{"hooks": {"Stop": [{"timeout": 1.5}]}}`)
	}
	write(t, filepath.Join(dir, "repo/sub/.claude/settings.local.json"), `{broken`)
	if err := os.MkdirAll(filepath.Join(dir, "repo/.git"), 0o755); err != nil {
		t.Fatal(err)
	}
	read, problems, err := ReadSettings(Options{
		Cwd: filepath.Join(dir, "repo/sub"), Home: filepath.Join(dir, "home"), ManagedDir: filepath.Join(dir, "managed"),
		Trusted: func(string) bool { return false },
	})
	if err != nil || len(problems) != 1 || len(read) != len(files)+1 {
		t.Fatalf("%d files, problems %v, %v", len(read), problems, err)
	}
	broken := slices.IndexFunc(read, func(f SettingsFile) bool { return f.Broken != nil })
	if broken != 4 || read[broken].Broken.Line != 1 {
		t.Fatalf("the broken file is number %d: %+v", broken, read[broken].Broken)
	}
	for i, f := range slices.Delete(read, broken, broken+1) {
		if f.Path != filepath.Join(dir, files[i]) || f.Untrusted != (f.Source == Project || f.Source == Local) {
			t.Errorf("file %d is %+v", i, f)
		}
		raw, err := f.Value("hooks")
		if none, _ := f.Value("none"); err != nil || string(raw) != `{"Stop":[{"timeout":1.5}]}` || none != nil {
			t.Errorf("%s: %s, %s, %v", f.Path, raw, none, err)
		}
	}
}

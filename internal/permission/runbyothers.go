package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// mayEditUnasked reports whether mode acceptEdits lets a call write to a path: it lies in
// a working directory, and nobody runs what it holds, unless a rule allows that edit.
func mayEditUnasked(c *call, path string) bool {
	return c.inWorkingDirs(path) && (c.runByOthers(path) == "" || editRuleCovers(c, path))
}

// editRuleCovers reports whether an allow rule lets files tools write to a path.
func editRuleCovers(c *call, path string) bool {
	return slices.ContainsFunc(c.policy.Allow, func(r Rule) bool { return r.Tool == "Edit" && (r.bare() || c.allowsPath(r, path)) })
}

// fileRunByOthers returns a file that the call would write in a working directory and that
// others run, or "".
func fileRunByOthers(c *call) string {
	paths := c.targets
	if c.effect == runEffect {
		paths = slices.Concat(c.shellWrites(), treeChanges(c), treeRemovals(c))
	}
	for _, p := range paths {
		if c.effect != readEffect && c.inWorkingDirs(p) && c.runByOthers(p) != "" && !editRuleCovers(c, p) {
			return p
		}
	}
	return ""
}

// runByOthers returns the form of a path whose content people, tools or agents run or obey
// without looking at it again, or "".
func (l location) runByOthers(path string) string {
	for _, f := range l.forms(path) {
		for _, root := range l.roots() {
			if l.within(f, root) && isRunByOthers(strings.ToLower(f[len(root):])) {
				return f
			}
		}
	}
	return ""
}

// isRunByOthers reports such a path, in lower case and below a working directory.
func isRunByOthers(path string) bool {
	name := filepath.Base(path)
	if slices.Contains(runFiles[:], name) || strings.HasSuffix(name, ".mk") || strings.HasPrefix(name, ".lintstagedrc") {
		return true
	}
	for _, dir := range runDirs {
		// Moving a directory to .github brings workflows.
		above, _, nested := strings.Cut(dir, "/")
		if strings.Contains("/"+path+"/", "/"+dir+"/") || nested && name == above {
			return true
		}
	}
	return false
}

// runFiles are names, in lower case, of files of build tools and package managers that hold
// commands, of pipelines and git hooks, and of instructions for agents.
var runFiles = [...]string{
	"makefile", "gnumakefile", "bsdmakefile", "justfile", ".justfile", "rakefile", "taskfile.yml", "taskfile.yaml", "magefile.go", "dockerfile", "containerfile",
	"vagrantfile", "tiltfile", "procfile", "configure", "makefile.am", "meson.build", "build.rs", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradlew", "mvnw", "pom.xml", "binding.gyp",
	"gemfile", "mix.exs", "mise.toml", ".mise.toml", ".bazelrc", ".lfsconfig", ".devcontainer.json",
	"package.json", "composer.json", "deno.json", "deno.jsonc", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py",
	"jenkinsfile", ".gitlab-ci.yml", ".gitlab-ci.yaml", ".travis.yml", "appveyor.yml", ".appveyor.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml",
	".drone.yml", "cloudbuild.yaml", "cloudbuild.yml", ".cirrus.yml", ".woodpecker.yml",
	".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", "lefthook.yaml",
	"claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md", "copilot-instructions.md", ".cursorrules", ".windsurfrules",
	".clinerules", ".goosehints", ".aider.conf.yml",
}

// runDirs are directories whose files are run or obeyed.
var runDirs = [...]string{
	".github/workflows", ".github/actions", ".gitlab/ci", ".circleci", ".buildkite", ".woodpecker", ".githooks", ".cursor/rules", ".clinerules", ".roo/rules", ".agents",
}

// Package childenv makes the environment of the commands that we start, such as the
// shell commands of agents and hooks: they get a short list of our variables.
//
//	cmd.Env = childenv.Of(os.Getenv, []string{"GOFLAGS"})
//
// Law: only variables that are on a list pass, and none that holds credentials
// or changes what programs load (TestNoSecretPasses).
package childenv

import (
	"strings"
)

// FallbackPath is PATH where ours is empty.
const FallbackPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// allowedNames are the variables a command gets, if they are set.
func allowedNames() []string {
	return []string{
		"PATH", "HOME", "LANG", "LANGUAGE", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL", "TZ",
		"LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES",
		"LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	}
}

// Of returns the environment of a command: the allowed variables as getenv has
// them, those named in pass, and settings that keep programs from asking or
// paging, which would wait for a terminal that is not there. Without getenv
// there are only the latter and a PATH.
func Of(getenv func(string) string, pass []string) []string {
	env := []string{"GIT_TERMINAL_PROMPT=0", "PAGER=cat", "GIT_PAGER=cat", "GIT_EDITOR=true", "DEBIAN_FRONTEND=noninteractive"}
	path := FallbackPath
	if getenv != nil {
		env = append(env, taken(getenv, pass)...)
		if p := getenv("PATH"); p != "" {
			path = p
		}
	}
	return append(env, "PATH="+path)
}

func taken(getenv func(string) string, pass []string) []string {
	var env []string
	add := func(name string) {
		if value := getenv(name); value != "" && name != "PATH" && !withCredentials(name, value) {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range allowedNames() {
		add(name)
	}
	for _, name := range pass {
		if !secretName(name) {
			add(name)
		}
	}
	return env
}

// withCredentials finds a password in the address of a proxy.
func withCredentials(name, value string) bool {
	return strings.HasSuffix(strings.ToUpper(name), "_PROXY") && strings.Contains(value, "@")
}

// secretName reports that a variable holds credentials or changes what programs
// load, going by its name; such a variable is not passed even when listed.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, p := range []string{
		"ANTHROPIC_", "OPENAI_", "GEMINI_", "AWS_", "AZURE_", "GOOGLE_", "GCP_", "GCLOUD_", "NATS_", "SWARM_", "LD_", "DYLD_", "BASH_FUNC_",
	} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for _, part := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "API_KEY", "PRIVATE"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "KEY" || name == "BASH_ENV" || name == "ENV" || strings.HasSuffix(name, "_KEY") || strings.ContainsAny(name, "=\x00")
}

// From returns the variables of a source that may be nil.
func From(variables func() []string) []string {
	if variables == nil {
		return nil
	}
	return variables()
}

package anthropic

import (
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/actorswarm/swarm/model/internal/transport"
)

// Defaults of Options.
const (
	DefaultIdleTimeout = transport.DefaultIdle
	DefaultPingTimeout = transport.DefaultPing
)

// betaLongContext is asked for by a model name that ends in longContextSuffix.
const (
	betaLongContext   = "context-1m-2025-08-07"
	longContextSuffix = "[1m]"
)

// Options configure the access to the API. Without a BaseURL a credential is needed.
type Options struct {
	APIKey    string
	AuthToken string // a bearer token, sent beside or instead of APIKey
	BaseURL   string // empty: Anthropic's own
	// HTTPClient must not have a Timeout, as that ends long answers. nil: a
	// client with room for a thousand connections that follows no redirects.
	HTTPClient *http.Client
	Betas      []string          // values of the anthropic-beta header
	Aliases    map[string]string // short model names, over those built in

	// IdleTimeout ends an answer in which nothing at all happens for so long
	// once it began; 0: DefaultIdleTimeout.
	IdleTimeout time.Duration
	// PingTimeout ends an answer that brings only pings, or has not begun, for
	// so long; 0: DefaultPingTimeout.
	PingTimeout time.Duration
}

// FromEnv reads ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL and
// ANTHROPIC_DEFAULT_{SONNET,OPUS,HAIKU,FABLE}_MODEL. It reports whether there is
// enough to call New with.
func FromEnv(getenv func(string) string) (Options, bool) {
	get := func(name string) string { return strings.TrimSpace(getenv(name)) }
	o := Options{
		APIKey: get("ANTHROPIC_API_KEY"), AuthToken: get("ANTHROPIC_AUTH_TOKEN"), BaseURL: get("ANTHROPIC_BASE_URL"),
	}
	for family := range builtinAliases() {
		if id := get("ANTHROPIC_DEFAULT_" + strings.ToUpper(family) + "_MODEL"); id != "" {
			if o.Aliases == nil {
				o.Aliases = map[string]string{}
			}
			o.Aliases[family] = id
		}
	}
	return o, o.APIKey != "" || o.AuthToken != "" || o.BaseURL != ""
}

func builtinAliases() map[string]string {
	return map[string]string{
		"sonnet": "claude-sonnet-5-5",
		"opus":   "claude-opus-5-5",
		"haiku":  "claude-haiku-5-5",
		"fable":  "claude-fable-5-1",
	}
}

// aliases returns the table in force: lower-case short names to full ids.
func (o Options) aliases() map[string]string {
	table := builtinAliases()
	maps.Copy(table, o.Aliases)
	return table
}

// Resolve returns the full id of a short model name (sonnet, opus, haiku,
// fable) and any other name as it is. A suffix [1m] is kept.
func (o Options) Resolve(name string) string { return resolve(o.aliases(), name) }

func resolve(table map[string]string, name string) string {
	base, long := strings.CutSuffix(strings.TrimSpace(name), longContextSuffix)
	id, known := table[strings.ToLower(base)]
	if !known {
		return strings.TrimSpace(name)
	}
	if long && !strings.HasSuffix(id, longContextSuffix) {
		id += longContextSuffix
	}
	return id
}

// Family returns the family (sonnet, opus, haiku, fable) that a short name or a
// full id belongs to, or "" if it belongs to none of them.
func Family(name string) string {
	lower := strings.ToLower(name)
	for family := range builtinAliases() {
		if strings.Contains(lower, family) {
			return family
		}
	}
	return ""
}

// Resolve is Options.Resolve with the names that the environment sets.
func Resolve(name string, getenv func(string) string) string {
	o, _ := FromEnv(getenv)
	return o.Resolve(name)
}

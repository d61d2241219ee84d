package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/actorswarm/swarm/internal/spelling"
)

// CheckFormat checks the format of a command that prints a list.
func CheckFormat(format string) error {
	if format != "text" && format != "json" {
		return Usagef("unknown --format %q; use text or json%s", format, spelling.DidYouMean(format, "", []string{"text", "json"}))
	}
	return nil
}

// FlagError is the error for flags that cannot be parsed, with the flag that an unknown one
// may have meant.
func FlagError(c *cobra.Command, err error) error {
	text, _, _ := strings.Cut(err.Error(), ": strconv.") // the second half repeats it
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, f.Name)
			}
		})
		text += spelling.DidYouMean(unknown.GetSpecifiedName(), "--", known)
	}
	return Usagef("%s; see: %s --help", text, c.CommandPath())
}

// NoMoreArgs returns an error if there are more than the n arguments that a command
// takes.
func NoMoreArgs(args []string, n int, use string) error {
	if len(args) > n {
		return Usagef("there is nothing to do with %q; usage: %s", args[n], use)
	}
	return nil
}

// Arg returns the argument at i, if there is one.
func Arg(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}

// SplitRules splits lists at commas and spaces outside of parentheses.
func SplitRules(lists []string) []string {
	var rules []string
	for _, list := range lists {
		depth := 0
		rules = append(rules, strings.FieldsFunc(list, func(r rune) bool {
			switch r {
			case '(':
				depth++
			case ')':
				depth = max(0, depth-1)
			}
			return depth == 0 && (r == ',' || r == ' ' || r == '\t' || r == '\n')
		})...)
	}
	return rules
}

// CompleteFixed sets the completions of flags with a fixed set of values.
func CompleteFixed(c *cobra.Command) {
	for name, values := range map[string][]string{
		"output-format":      {"text", "json", "stream-json"},
		"permission-prompts": {"none", "wait"},
		"input-format":       {"text"},
		"format":             {"text", "json"},
		"permission-mode":    {"default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"},
		"model":              {"sonnet", "opus", "haiku"},
	} {
		CompleteFlag(c, name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

// CompleteFlag sets the completions of a flag, if the command has it.
func CompleteFlag(c *cobra.Command, name string, values cobra.CompletionFunc) {
	if c.Flags().Lookup(name) == nil {
		return
	}
	// It fails only for a flag that is not there or is completed twice.
	if err := c.RegisterFlagCompletionFunc(name, values); err != nil {
		panic(err)
	}
}

// FlagValue returns the value of a flag, if the command has it.
func FlagValue(c *cobra.Command, name string) string {
	if f := c.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

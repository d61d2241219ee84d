// Package definitions is the command agents with its subcommands: it lists, shows,
// explains, checks, formats, writes and removes agent definitions. No session and no
// model is needed for any of it.
//
//	c := definitions.New(&cli.Console{Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv})
//	c.SetArgs([]string{"list", "--source", "project"})
//	err := c.Execute()
//
// Laws:
//
//   - A definition that cannot be loaded is shown with its file and its reason, and
//     hides no other (TestScripts/agents_usage).
//   - What explain shows is what an Agent call would get (TestScripts/agents_explain).
//   - The editor's command is split into words, and no shell reads it
//     (TestEditorCommandsAreSplitWithoutAShell).
//   - Nothing is written over or removed unasked (TestNothingIsReplacedOrRemovedUnasked).
package definitions

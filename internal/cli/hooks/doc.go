// Package hooks holds the commands about what settings files run: trust shows what a
// directory would run and records that its user trusts it; hooks lists the hooks that
// are in force, and tries them.
//
//	c := hooks.NewTrust(&cli.Console{Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv})
//	c.SetArgs([]string{"--yes"})
//	err := c.Execute()
//
// Laws:
//
//   - What is trusted was shown before, or named by --yes or --trust-dir, and a change
//     of it is not trusted (TestScripts/trust).
//   - Test runs what is in force and nothing else (TestScripts/hooks_test).
//   - No command of an agent trusts a directory (TestScripts/trust).
package hooks

// Package cli holds what all commands of the program share: input and output, arguments
// and flags, signals, and exit statuses. It knows no command.
//
//	c := cli.Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}
//	sig := cli.CatchSignals(ctx, os.Exit)
//	defer sig.Release()
//	os.Exit(c.Report(work(sig.Run, &c)))
//
// Laws:
//
//   - A wrong command line ends with status 2 and one line with what to write
//     instead (TestExitStatusOfWrongUses).
//   - A command with subcommands refuses a word that names none of them
//     (TestUnknownSubcommandsAreRefused).
//   - The first signal decides the exit status
//     (TestTheFirstSignalDecidesTheExitStatus).
//   - The second Ctrl-C ends the process within two seconds in any case
//     (TestTheSecondCtrlCEndsTheProcessIfNothingElseDoes).
package cli

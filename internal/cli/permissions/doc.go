// Package permissions holds the command permissions: it lists the permission rules in
// force, tries them on a call, and changes those in settings files.
//
//	c := permissions.New(&cli.Console{Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv})
//	c.SetArgs([]string{"check", "Bash(git push)"})
//	err := c.Execute() // its exit status says allow, ask or deny
//
// Laws:
//
//   - Every rule in force is listed with its file and line, and what is left out with
//     the way out (TestScripts/permissions_list).
//   - Check decides as the session would, for the lead and for every definition
//     (TestScripts/permissions_check).
//   - A change is made in the file that was named, and no command of an agent makes one
//     (TestScripts/permissions_change).
package permissions

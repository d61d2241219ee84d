// Package servers holds the commands about the MCP servers whose tools agents have: list
// and get show those that are configured, add, add-json and remove change the user's files
// and .mcp.json.
//
//	c := &cobra.Command{Use: "mcp"}
//	servers.AddTo(c, &cli.Console{Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv})
//	c.SetArgs([]string{"add", "files", "--", "mcp-server-filesystem", "."})
//	err := c.Execute()
//
// Laws:
//
//   - List starts nothing; get starts the one server that it is asked about
//     (TestScripts/mcp_servers).
//   - No command of an agent changes what is configured (TestScripts/mcp_servers).
package servers

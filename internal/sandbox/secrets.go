package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// secretNames are the files and directories of a home that hold credentials. What mainly
// holds settings, and credentials perhaps, is not among them: programs fail without it.
func secretNames() []string {
	return []string{
		// keys of people
		".ssh", ".gnupg/private-keys-v1.d", ".gnupg/secring.gpg", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".config/sops/age",
		".config/op", ".vault-token", "Library/Keychains",
		// clouds and clusters
		".aws", ".azure", ".config/gcloud", ".kube", ".oci", ".boto", ".s3cfg", ".config/rclone", ".config/doctl", ".config/hcloud", ".config/linode-cli", ".fly/config.yml",
		".databrickscfg", ".snowflake", ".snowsql", ".terraform.d/credentials.tfrc.json", ".pulumi/credentials.json", ".config/heroku", ".config/.wrangler",
		// code hosts, registries of packages and images
		".netrc", "_netrc", ".authinfo", ".authinfo.gpg", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/glab-cli", ".config/hub",
		".npmrc", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".local/share/gem/credentials", ".composer/auth.json",
		".config/composer/auth.json", ".m2/settings-security.xml", ".docker/config.json", ".config/containers/auth.json", ".config/helm/registry/config.json",
		// databases and models
		".pgpass", ".my.cnf", ".mylogin.cnf", ".cache/huggingface/token", ".huggingface/token", ".kaggle", ".claude/.credentials.json", ".claude/credentials.json",
		".codex/auth.json", ".gemini/oauth_creds.json",
		// what browsers are logged in to
		".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
	}
}

// Secrets returns the files and directories below a home that hold credentials.
func Secrets(home string) []string {
	if home == "" {
		return nil
	}
	var all []string
	for _, name := range secretNames() {
		all = append(all, filepath.Join(home, name))
	}
	for _, pattern := range []string{".claude*/.credentials*", ".claude*/credentials*"} {
		found, _ := filepath.Glob(filepath.Join(home, pattern)) // the pattern is well formed
		all = append(all, found...)
	}
	return union(all, nil)
}

// hidden returns swarm's own state and the credentials of the user's tools, and what is
// shown of those because Reads names it.
func (pl Place) hidden() (hidden, shown []string) {
	r := realPaths{}
	secret, own, reads := each(Secrets(pl.Home), r.of), each(pl.Hidden, r.of), each(pl.Reads, r.of)
	for _, path := range reads {
		if nearest(own, path) == "" && nearest(secret, path) != "" {
			shown = append(shown, path)
		}
	}
	secret = slices.DeleteFunc(secret, func(s string) bool { return slices.Contains(shown, s) })
	return union(secret, own), shown
}

// realPaths follows links as real does, and remembers where they lead.
type realPaths map[string]string

func (r realPaths) of(path string) string {
	if to, ok := r[path]; ok {
		return to
	}
	to := path
	if dir := filepath.Dir(path); dir != path {
		to = filepath.Join(r.of(dir), filepath.Base(path))
	}
	if info, err := os.Lstat(to); err == nil && info.Mode()&os.ModeSymlink != 0 {
		to = real(to)
	}
	r[path] = to
	return to
}

package credentials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Files is a Source that reads a long-lived AccessKey from two files, as a mounted Secret has them.
type Files struct {
	IDFile, SecretFile string
}

// Name of the source.
func (Files) Name() string { return "access_key_files" }

// Fetch reads both files; surrounding white space does not count. It reads again what was replaced in the meantime, since the id
// of one key does not go with the secret of another.
func (f Files) Fetch(ctx context.Context) (Credentials, error) {
	for {
		id, idErr := readWord(f.IDFile)
		secret, secretErr := readWord(f.SecretFile)
		if err := errors.Join(idErr, secretErr, ctx.Err()); err != nil {
			return Credentials{}, fmt.Errorf("read the AccessKey: %w", err)
		}
		if again, err := readWord(f.IDFile); err == nil && again == id {
			return Credentials{AccessKeyID: id, AccessKeySecret: secret}, nil
		}
	}
}

func (Files) changesAnyTime() {}

func readWord(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	word := strings.TrimSpace(string(data))
	if word == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return word, nil
}

// Environment is a Source that reads an AccessKey from environment variables, a long-lived one or a temporary one with its token.
type Environment struct{}

// Name of the source.
func (Environment) Name() string { return "environment" }

// Fetch takes the first pair of variables of which both are set.
func (Environment) Fetch(context.Context) (Credentials, error) {
	for _, prefix := range []string{"", "ALIBABA_CLOUD_"} {
		id, secret := os.Getenv(prefix+"ACCESS_KEY_ID"), os.Getenv(prefix+"ACCESS_KEY_SECRET")
		if id != "" && secret != "" {
			return Credentials{AccessKeyID: id, AccessKeySecret: secret, SecurityToken: os.Getenv(prefix + "SECURITY_TOKEN")}, nil
		}
	}
	return Credentials{}, errors.New("set ACCESS_KEY_ID and ACCESS_KEY_SECRET, or ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET")
}

// Fixed are credentials for which there are no newer ones, e.g. for a single call.
type Fixed struct{ Credentials }

// Current gives them.
func (f Fixed) Current() (Credentials, error) { return f.Credentials, nil }

// Renew has nothing to offer.
func (Fixed) Renew(context.Context, Credentials) bool { return false }

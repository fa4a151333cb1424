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

// Fetch reads both files; surrounding white space does not count.
func (f Files) Fetch(context.Context) (Credentials, error) {
	id, idErr := readWord(f.IDFile)
	secret, secretErr := readWord(f.SecretFile)
	if err := errors.Join(idErr, secretErr); err != nil {
		return Credentials{}, fmt.Errorf("read the AccessKey: %w", err)
	}
	return Credentials{AccessKeyID: id, AccessKeySecret: secret}, nil
}

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

// Environment is a Source that reads a long-lived AccessKey from environment variables.
type Environment struct {
	// Lookup is os.LookupEnv, or a table in tests.
	Lookup func(name string) (string, bool)
}

// Name of the source.
func (Environment) Name() string { return "environment" }

// Fetch takes the first pair of variables of which both are set.
func (e Environment) Fetch(context.Context) (Credentials, error) {
	pairs := [][2]string{
		{"ACCESS_KEY_ID", "ACCESS_KEY_SECRET"},
		{"ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET"},
	}
	for _, pair := range pairs {
		id, _ := e.Lookup(pair[0])
		secret, _ := e.Lookup(pair[1])
		if id != "" && secret != "" {
			return Credentials{AccessKeyID: id, AccessKeySecret: secret}, nil
		}
	}
	return Credentials{}, errors.New("set ACCESS_KEY_ID and ACCESS_KEY_SECRET, or ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET")
}

package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"paddock/client"
	"paddock/internal/cli/pack"
)

// sendImage sends the image that a spec names by a path, which is relative to the
// file of the spec, and gives the spec with the template in its place. A spec
// without such an image, or that cannot be read, is given as it is: the server
// judges it.
func (s *specFlags) sendImage(cmd *cobra.Command, a *app, c *client.Client, text []byte) ([]byte, error) {
	var document yaml.Node
	if yaml.Unmarshal(text, &document) != nil || len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return text, nil
	}
	pairs := document.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		if key.Value != "image" || value.Kind != yaml.ScalarNode || value.Value == "-" || !isPath(value.Value) {
			continue
		}
		image := value.Value
		if s.file != "" && s.file != "-" && !filepath.IsAbs(image) && !strings.HasPrefix(image, "~") {
			image = filepath.Join(filepath.Dir(s.file), image)
		}
		if !isPath(image) {
			image = "./" + image
		}
		warn := a.warnOnce()
		t, err := a.addTemplate(cmd, c, image, "", warn)
		if client.IsCode(err, "conflict") { // another image has that name, perhaps an older one of the same file
			t, err = a.addUnder(cmd, c, image, warn)
		}
		if err != nil {
			return nil, err
		}
		for _, text := range t.Warnings {
			warn(text)
		}
		key.Value = "template"
		value.SetString(t.Name)
		return yaml.Marshal(&document)
	}
	return text, nil
}

// warnOnce shows each warning once, for a folder may be read again. Folders are read
// in goroutines.
func (a *app) warnOnce() func(text string) {
	var said sync.Map
	return func(text string) {
		if _, again := said.LoadOrStore(text, true); !again {
			a.warn(text)
		}
	}
}

// digits is how much of an image's digest its name has.
const digits = 12

// addUnder sends an image under a name that no other one has: the usual one with
// a part of what the image has for a digest.
func (a *app) addUnder(cmd *cobra.Command, c *client.Client, image string, warn func(text string)) (client.Template, error) {
	file, err := home(image)
	if err != nil {
		return client.Template{}, fmt.Errorf("read image: %w", err)
	}
	from, err := pack.Open(file, warn)
	if err != nil {
		return client.Template{}, fmt.Errorf("read image: %w", err)
	}
	defer from.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, from); err != nil {
		return client.Template{}, fmt.Errorf("read image: %w", err)
	}
	return a.addTemplate(cmd, c, image, nameOf(image)+"-"+hex.EncodeToString(sum.Sum(nil))[:digits], warn)
}

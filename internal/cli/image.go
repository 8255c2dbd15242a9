package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"paddock/client"
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
		t, err := a.addTemplate(cmd, c, image, "")
		if err != nil {
			return nil, err
		}
		key.Value = "template"
		value.SetString(t.Name)
		return yaml.Marshal(&document)
	}
	return text, nil
}

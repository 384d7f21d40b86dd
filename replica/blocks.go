package replica

// blockKind says what a tag means whose name is packed into 8 bytes, big-endian, longer names cut off.
func blockKind(name uint64) tagKind {
	switch name {
	case 0x70, 0x6272, 0x6464, 0x646c, 0x6474, 0x6831, // p br dd dl dt h1
		0x6832, 0x6833, 0x6834, 0x6835, 0x6836, 0x6872, // h2 h3 h4 h5 h6 hr
		0x6c69, 0x6f6c, 0x7472, 0x756c, 0x636f6c, 0x646972, // li ol tr ul col dir
		0x646976, 0x6e6176, 0x626f6479, 0x666f726d, 0x68656164, 0x68746d6c, // div nav body form head html
		0x6d61696e, 0x6d656e75, 0x6173696465, 0x6672616d65, 0x7461626c65, 0x74626f6479, // main menu aside frame table tbody
		0x74666f6f74, 0x7468656164, 0x7469746c65, 0x63656e746572, 0x6469616c6f67, 0x666967757265, // tfoot thead title center dialog figure
		0x666f6f746572, 0x686561646572, 0x696672616d65, 0x6c6567656e64, 0x6f7074696f6e, 0x73656c656374, // footer header iframe legend option select
		0x61646472657373, 0x61727469636c65, 0x63617074696f6e, 0x64657461696c73, 0x73656374696f6e, 0x73756d6d617279, // address article caption details section summary
		0x626c6f636b71756f, 0x636f6c67726f7570, 0x6669656c64736574, 0x6669676361707469, 0x6672616d65736574, 0x6e6f6672616d6573, // blockquote colgroup fieldset figcaption frameset noframes
		0x6e6f736372697074, 0x6f707467726f7570, 0x7465787461726561: // noscript optgroup textarea
		return boundary
	}
	return inline
}

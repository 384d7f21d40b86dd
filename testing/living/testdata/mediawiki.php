<?php // what answers a path of MediaWiki: one of its programs, or a file
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$site = __DIR__.'/site';
$files = '#^/(resources|skins|extensions|images)/.*(?<!\.php)$#';
if (preg_match($files, $path) && is_file($site.$path)) return false;
$m = null;
if (preg_match('#^/(index|load|api|rest|opensearch_desc|thumb)\.php#', $path, $m)) $program = '/'.$m[1].'.php';
elseif (preg_match('#^/(wiki/|$)#', $path)) $program = '/index.php';
else {
	http_response_code(404);
	echo 'not found';
	return true;
}
$_SERVER['SCRIPT_NAME'] = $program;
$_SERVER['PHP_SELF'] = $m ? $path : $program;
$_SERVER['SCRIPT_FILENAME'] = $site.$program;
chdir($site);
require $site.$program;

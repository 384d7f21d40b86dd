<?php // what answers a path of DokuWiki: one of its programs, or a file of lib
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$site = __DIR__.'/site';
define('DOKU_CONF', __DIR__.'/conf/');
if ($path == '/') $path = '/doku.php';
if (preg_match('#^(/.*\.php)#', $path, $m) && is_file($site.$m[1])) {
	$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = $m[1];
	$_SERVER['SCRIPT_FILENAME'] = $site.$m[1];
	chdir(dirname($site.$m[1]));
	require $site.$m[1];
	return true;
}
if (preg_match('#^/lib/#', $path) && is_file($site.$path)) return false;
http_response_code(404);
echo 'not found';

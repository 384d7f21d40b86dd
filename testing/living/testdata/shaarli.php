<?php // what answers a path of Shaarli: a file, or its one program
$path = urldecode(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH));
$site = __DIR__.'/site';
if ($path != '/' && is_file($site.$path) && !preg_match('/\.php$/', $path)) return false;
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/index.php';
$_SERVER['SCRIPT_FILENAME'] = "$site/index.php";
chdir($site);
require "$site/index.php";

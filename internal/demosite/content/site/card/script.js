// script.js
